// Plays orders with the Go clients: a line of JSON in, a line of JSON out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type order struct {
	Client    string `json:"client"`
	Operation string `json:"operation"`
	BaseURL   string `json:"baseUrl"`
	Key       string `json:"key"`
	Model     string `json:"model"`
	Prompt    string `json:"prompt"`
	Cancel    bool   `json:"cancel"`
}

type usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

type failure struct {
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
}

type report struct {
	Text    string   `json:"text"`
	Pieces  int      `json:"pieces"`
	Called  []string `json:"called,omitempty"`
	Value   any      `json:"value,omitempty"`
	Models  []string `json:"models,omitempty"`
	Usage   *usage   `json:"usage,omitempty"`
	Error   *failure `json:"error,omitempty"`
	Missing bool     `json:"missing,omitempty"`
}

// A client has the operations that its library has; the others are absent.
type operation func(context.Context, order) (report, error)
type client map[string]operation

var clients = map[string]client{
	"github.com/openai/openai-go/v3 chat":             openaiChat,
	"github.com/openai/openai-go/v3 responses":        openaiResponses,
	"github.com/anthropics/anthropic-sdk-go messages": anthropicMessages,
	"github.com/sashabaranov/go-openai chat":          goOpenAI,
	"github.com/tmc/langchaingo chat":                 langChain,
	"github.com/tmc/langchaingo messages":             langChain,
}

const image = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=="
const imageURL = "data:image/png;base64," + image

var weatherProperties = map[string]any{"city": map[string]any{"type": "string"}}

var weatherSchema = map[string]any{
	"type": "object", "properties": weatherProperties,
	"required": []string{"city"}, "additionalProperties": false,
}

var placeSchema = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"city": map[string]any{"type": "string"}, "people": map[string]any{"type": "integer"},
	},
	"required": []string{"city", "people"}, "additionalProperties": false,
}

// weather runs calls of the weather tool and notes them.
type weather struct{ called []string }

func (w *weather) run(arguments string) string {
	var input struct {
		City string `json:"city"`
	}
	if err := json.Unmarshal([]byte(arguments), &input); err != nil {
		panic(err)
	}
	w.called = append(w.called, fmt.Sprintf("get_weather(%s)", input.City))
	return "7 degrees in " + input.City
}

// reader adds up a stream and cancels it at the first piece when the order says so.
type reader struct {
	text   strings.Builder
	pieces int
	leave  context.CancelFunc
}

func newReader(ctx context.Context, o order) (*reader, context.Context) {
	r := &reader{}
	if !o.Cancel {
		return r, ctx
	}
	own, cancel := context.WithCancel(ctx)
	r.leave = cancel
	return r, own
}

func (r *reader) take(piece string) {
	if piece == "" {
		return
	}
	r.text.WriteString(piece)
	r.pieces++
	if r.leave != nil {
		r.leave()
	}
}

func (r *reader) report(counts *usage) report {
	return report{Text: r.text.String(), Pieces: r.pieces, Usage: counts}
}

func valueOf(text string) (report, error) {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	return report{Value: value}, err
}

func countsOf(input, output int64) *usage {
	if input == 0 {
		return nil
	}
	return &usage{Input: input, Output: output}
}

func play(o order) (result report) {
	defer func() {
		if reason := recover(); reason != nil {
			result = report{Error: &failure{Message: fmt.Sprint("panic: ", reason)}}
		}
	}()
	operation, found := clients[o.Client][o.Operation]
	if !found {
		return report{Missing: true}
	}
	done, err := operation(context.Background(), o)
	if err == nil {
		return done
	}
	return report{Text: done.Text, Error: &failure{Message: err.Error()}}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		line, err := json.Marshal(map[string]report{"report": play(o)})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
}
