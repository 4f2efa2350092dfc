package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicClient(o order) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key))
}

func messageParams(o order, blocks ...anthropic.ContentBlockParamUnion) anthropic.MessageNewParams {
	if len(blocks) == 0 {
		blocks = append(blocks, anthropic.NewTextBlock(o.Prompt))
	}
	return anthropic.MessageNewParams{
		Model:     o.Model,
		MaxTokens: 1000,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(blocks...)},
	}
}

func send(ctx context.Context, o order, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	client := anthropicClient(o)
	return client.Messages.New(ctx, params)
}

func textOf(message *anthropic.Message) string {
	text := ""
	for _, block := range message.Content {
		text += block.Text
	}
	return text
}

var anthropicMessages = client{
	"list": func(ctx context.Context, o order) (report, error) {
		client := anthropicClient(o)
		page, err := client.Models.List(ctx, anthropic.ModelListParams{})
		if err != nil {
			return report{}, err
		}
		models := []string{}
		for _, model := range page.Data {
			models = append(models, model.ID)
		}
		return report{Models: models}, nil
	},
	"ask": func(ctx context.Context, o order) (report, error) {
		message, err := send(ctx, o, messageParams(o))
		if err != nil {
			return report{}, err
		}
		return report{Text: textOf(message), Usage: countsOf(message.Usage.InputTokens, message.Usage.OutputTokens)}, nil
	},
	"stream": func(ctx context.Context, o order) (report, error) {
		reader, ctx := newReader(ctx, o)
		client := anthropicClient(o)
		stream := client.Messages.NewStreaming(ctx, messageParams(o))
		defer stream.Close()
		message := anthropic.Message{}
		for stream.Next() {
			event := stream.Current()
			if err := message.Accumulate(event); err != nil {
				return reader.report(nil), err
			}
			if event.Type == "content_block_delta" {
				reader.take(event.Delta.Text)
			}
		}
		return reader.report(countsOf(message.Usage.InputTokens, message.Usage.OutputTokens)), stream.Err()
	},
	"tools": func(ctx context.Context, o order) (report, error) {
		weather := &weather{}
		params := messageParams(o)
		tool := anthropic.ToolParam{
			Name:        "get_weather",
			Description: anthropic.String("The weather of a city"),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: weatherProperties, Required: []string{"city"}},
		}
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &tool}}
		first, err := send(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		results := []anthropic.ContentBlockParamUnion{}
		for _, block := range first.Content {
			if block.Type == "tool_use" {
				results = append(results, anthropic.NewToolResultBlock(block.ID, weather.run(string(block.Input)), false))
			}
		}
		params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
		last, err := send(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return report{Text: textOf(last), Called: weather.called}, nil
	},
	"structured": func(ctx context.Context, o order) (report, error) {
		params := messageParams(o)
		params.OutputConfig = anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: placeSchema}}
		message, err := send(ctx, o, params)
		if err != nil {
			return report{}, err
		}
		return valueOf(textOf(message))
	},
	"image": func(ctx context.Context, o order) (report, error) {
		picture := anthropic.NewImageBlockBase64("image/png", image)
		message, err := send(ctx, o, messageParams(o, picture, anthropic.NewTextBlock(o.Prompt)))
		if err != nil {
			return report{}, err
		}
		return report{Text: textOf(message)}, nil
	},
}
