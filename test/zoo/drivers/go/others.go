package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	lcanthropic "github.com/tmc/langchaingo/llms/anthropic"
	lcopenai "github.com/tmc/langchaingo/llms/openai"
)

func goOpenAIClient(o order) *openai.Client {
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = o.BaseURL + "/v1"
	return openai.NewClientWithConfig(config)
}

func goOpenAIAsk(ctx context.Context, o order, message openai.ChatCompletionMessage, form *openai.ChatCompletionResponseFormat) (report, error) {
	answer, err := goOpenAIClient(o).CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: o.Model, Messages: []openai.ChatCompletionMessage{message}, ResponseFormat: form,
	})
	if err != nil {
		return report{}, err
	}
	counts := countsOf(int64(answer.Usage.PromptTokens), int64(answer.Usage.CompletionTokens))
	return report{Text: answer.Choices[0].Message.Content, Usage: counts}, nil
}

var goOpenAI = client{
	"list": func(ctx context.Context, o order) (report, error) {
		list, err := goOpenAIClient(o).ListModels(ctx)
		models := []string{}
		for _, model := range list.Models {
			models = append(models, model.ID)
		}
		return report{Models: models}, err
	},
	"ask": func(ctx context.Context, o order) (report, error) {
		return goOpenAIAsk(ctx, o, openai.ChatCompletionMessage{Role: "user", Content: o.Prompt}, nil)
	},
	"stream": func(ctx context.Context, o order) (report, error) {
		reader, ctx := newReader(ctx, o)
		stream, err := goOpenAIClient(o).CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
			Model:         o.Model,
			Messages:      []openai.ChatCompletionMessage{{Role: "user", Content: o.Prompt}},
			StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		})
		if err != nil {
			return report{}, err
		}
		defer stream.Close()
		var counts *usage
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return reader.report(counts), nil
			}
			if err != nil {
				return reader.report(nil), err
			}
			if len(chunk.Choices) > 0 {
				reader.take(chunk.Choices[0].Delta.Content)
			}
			if chunk.Usage != nil {
				counts = countsOf(int64(chunk.Usage.PromptTokens), int64(chunk.Usage.CompletionTokens))
			}
		}
	},
	"tools": func(ctx context.Context, o order) (report, error) {
		weather := &weather{}
		tool := openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: "get_weather", Description: "The weather of a city", Parameters: weatherSchema,
		}}
		request := openai.ChatCompletionRequest{
			Model: o.Model, Messages: []openai.ChatCompletionMessage{{Role: "user", Content: o.Prompt}},
			Tools: []openai.Tool{tool},
		}
		first, err := goOpenAIClient(o).CreateChatCompletion(ctx, request)
		if err != nil {
			return report{}, err
		}
		message := first.Choices[0].Message
		request.Messages = append(request.Messages, message)
		for _, call := range message.ToolCalls {
			request.Messages = append(request.Messages, openai.ChatCompletionMessage{
				Role: "tool", ToolCallID: call.ID, Content: weather.run(call.Function.Arguments),
			})
		}
		last, err := goOpenAIClient(o).CreateChatCompletion(ctx, request)
		if err != nil {
			return report{}, err
		}
		return report{Text: last.Choices[0].Message.Content, Called: weather.called}, nil
	},
	"structured": func(ctx context.Context, o order) (report, error) {
		schema, err := json.Marshal(placeSchema)
		if err != nil {
			return report{}, err
		}
		form := &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "place", Schema: json.RawMessage(schema), Strict: true,
			},
		}
		answer, err := goOpenAIAsk(ctx, o, openai.ChatCompletionMessage{Role: "user", Content: o.Prompt}, form)
		if err != nil {
			return report{}, err
		}
		return valueOf(answer.Text)
	},
	"image": func(ctx context.Context, o order) (report, error) {
		return goOpenAIAsk(ctx, o, openai.ChatCompletionMessage{Role: "user", MultiContent: []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: o.Prompt},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: imageURL}},
		}}, nil)
	},
}

func langChainModel(o order) (llms.Model, error) {
	if o.Client == "github.com/tmc/langchaingo messages" {
		return lcanthropic.New(lcanthropic.WithBaseURL(o.BaseURL+"/v1"), lcanthropic.WithToken(o.Key), lcanthropic.WithModel(o.Model))
	}
	return lcopenai.New(lcopenai.WithBaseURL(o.BaseURL+"/v1"), lcopenai.WithToken(o.Key), lcopenai.WithModel(o.Model))
}

func langChainAsk(ctx context.Context, o order, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	model, err := langChainModel(o)
	if err != nil {
		return nil, err
	}
	return model.GenerateContent(ctx, messages, append(options, llms.WithMaxTokens(1000))...)
}

var langChain = client{
	"ask": func(ctx context.Context, o order) (report, error) {
		answer, err := langChainAsk(ctx, o, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, o.Prompt)})
		if err != nil {
			return report{}, err
		}
		return report{Text: answer.Choices[0].Content}, nil
	},
	"stream": func(ctx context.Context, o order) (report, error) {
		reader, ctx := newReader(ctx, o)
		take := llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
			reader.take(string(piece))
			return nil
		})
		_, err := langChainAsk(ctx, o, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, o.Prompt)}, take)
		return reader.report(nil), err
	},
	"tools": func(ctx context.Context, o order) (report, error) {
		weather := &weather{}
		tools := llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{
			Name: "get_weather", Description: "The weather of a city", Parameters: weatherSchema,
		}}})
		messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, o.Prompt)}
		first, err := langChainAsk(ctx, o, messages, tools)
		if err != nil {
			return report{}, err
		}
		asked := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		results := []llms.MessageContent{}
		for _, choice := range first.Choices {
			for _, call := range choice.ToolCalls {
				asked.Parts = append(asked.Parts, call)
				results = append(results, llms.MessageContent{
					Role: llms.ChatMessageTypeTool,
					Parts: []llms.ContentPart{llms.ToolCallResponse{
						ToolCallID: call.ID, Name: call.FunctionCall.Name, Content: weather.run(call.FunctionCall.Arguments),
					}},
				})
			}
		}
		last, err := langChainAsk(ctx, o, append(append(messages, asked), results...), tools)
		if err != nil {
			return report{}, err
		}
		return report{Text: last.Choices[0].Content, Called: weather.called}, nil
	},
}
