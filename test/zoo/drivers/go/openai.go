package main

import (
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func openaiClient(o order) openai.Client {
	return openai.NewClient(option.WithBaseURL(o.BaseURL+"/v1"), option.WithAPIKey(o.Key))
}

func openaiModels(ctx context.Context, o order) (report, error) {
	client := openaiClient(o)
	page, err := client.Models.List(ctx)
	if err != nil {
		return report{}, err
	}
	models := []string{}
	for _, model := range page.Data {
		models = append(models, model.ID)
	}
	return report{Models: models}, nil
}

func chatParams(o order) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    o.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(o.Prompt)},
	}
}

func complete(ctx context.Context, o order, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	client := openaiClient(o)
	return client.Chat.Completions.New(ctx, params)
}

var openaiChat = client{
	"list": openaiModels,
	"ask": func(ctx context.Context, o order) (report, error) {
		answer, err := complete(ctx, o, chatParams(o))
		if err != nil {
			return report{}, err
		}
		counts := countsOf(answer.Usage.PromptTokens, answer.Usage.CompletionTokens)
		return report{Text: answer.Choices[0].Message.Content, Usage: counts}, nil
	},
	"stream": func(ctx context.Context, o order) (report, error) {
		reader, ctx := newReader(ctx, o)
		client := openaiClient(o)
		params := chatParams(o)
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		stream := client.Chat.Completions.NewStreaming(ctx, params)
		defer stream.Close()
		var counts *usage
		for stream.Next() {
			chunk := stream.Current()
			if len(chunk.Choices) > 0 {
				reader.take(chunk.Choices[0].Delta.Content)
			}
			if found := countsOf(chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens); found != nil {
				counts = found
			}
		}
		return reader.report(counts), stream.Err()
	},
	"tools": func(ctx context.Context, o order) (report, error) {
		weather := &weather{}
		params := chatParams(o)
		params.Tools = []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name:        "get_weather",
				Description: openai.String("The weather of a city"),
				Parameters:  shared.FunctionParameters(weatherSchema),
			}),
		}
		first, err := complete(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		params.Messages = append(params.Messages, first.Choices[0].Message.ToParam())
		for _, call := range first.Choices[0].Message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(weather.run(call.Function.Arguments), call.ID))
		}
		last, err := complete(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return report{Text: last.Choices[0].Message.Content, Called: weather.called}, nil
	},
	"structured": func(ctx context.Context, o order) (report, error) {
		params := chatParams(o)
		params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
					Name: "place", Schema: placeSchema, Strict: openai.Bool(true),
				},
			},
		}
		answer, err := complete(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return valueOf(answer.Choices[0].Message.Content)
	},
	"image": func(ctx context.Context, o order) (report, error) {
		params := chatParams(o)
		params.Messages = []openai.ChatCompletionMessageParamUnion{
			openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart(o.Prompt),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: imageURL}),
			}),
		}
		answer, err := complete(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return report{Text: answer.Choices[0].Message.Content}, nil
	},
}

func responseParams(o order) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: o.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(o.Prompt)},
	}
}

func respond(ctx context.Context, o order, params responses.ResponseNewParams) (*responses.Response, error) {
	client := openaiClient(o)
	return client.Responses.New(ctx, params)
}

var openaiResponses = client{
	"list": openaiModels,
	"ask": func(ctx context.Context, o order) (report, error) {
		answer, err := respond(ctx, o, responseParams(o))
		if err != nil {
			return report{}, err
		}
		return report{Text: answer.OutputText(), Usage: countsOf(answer.Usage.InputTokens, answer.Usage.OutputTokens)}, nil
	},
	"stream": func(ctx context.Context, o order) (report, error) {
		reader, ctx := newReader(ctx, o)
		client := openaiClient(o)
		stream := client.Responses.NewStreaming(ctx, responseParams(o))
		defer stream.Close()
		var counts *usage
		failed := ""
		for stream.Next() {
			event := stream.Current()
			switch event.Type {
			case "response.output_text.delta":
				reader.take(event.Delta)
			case "response.completed":
				counts = countsOf(event.Response.Usage.InputTokens, event.Response.Usage.OutputTokens)
			case "response.failed", "error":
				failed = event.Response.Error.Message + event.Message
			}
		}
		done := reader.report(counts)
		if failed != "" {
			// The library hands the event over; programs look at it.
			done.Error = &failure{Message: failed}
		}
		return done, stream.Err()
	},
	"tools": func(ctx context.Context, o order) (report, error) {
		weather := &weather{}
		params := responseParams(o)
		params.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", weatherSchema, true)}
		input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(o.Prompt, responses.EasyInputMessageRoleUser)}
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
		first, err := respond(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		for _, item := range first.Output {
			if item.Type != "function_call" {
				continue
			}
			call := item.AsFunctionCall()
			output := responses.ResponseInputItemParamOfFunctionCallOutput(weather.run(call.Arguments))
			output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			asked := responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name)
			input = append(input, asked, output)
		}
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
		last, err := respond(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return report{Text: last.OutputText(), Called: weather.called}, nil
	},
}
