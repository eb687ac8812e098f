// The official SDK for Go. It takes the conversations as JSON, reads them into the SDK's own types, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

type conversation struct {
	Name         string                     `json:"name"`
	Body         map[string]any             `json:"body"`
	IsStreamed   bool                       `json:"isStreamed"`
	Results      map[string]json.RawMessage `json:"results"`
	Next         []string                   `json:"next"`
	MissingModel string                     `json:"missingModel"`
}

type object = map[string]any

var client = anthropic.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")), option.WithAPIKey(os.Getenv("KEY")))
var poor = clientOf(os.Getenv("POOR_KEY"))
var stranger = clientOf("sk-tp-nobodyhasthiskey")

func clientOf(key string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")), option.WithAPIKey(key))
}

func main() {
	var given struct{ Conversations []conversation }
	text, err := os.ReadFile(os.Getenv("CONVERSATIONS"))
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err != nil {
		panic(err)
	}
	for _, one := range given.Conversations {
		got, err := holdBounded(one)
		if err != nil {
			got = object{"broken": err.Error()}
		}
		line, _ := json.Marshal(object{"conversation": one.Name, "got": got})
		fmt.Println(string(line))
	}
}

func holdBounded(one conversation) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return hold(ctx, one)
}

func hold(ctx context.Context, one conversation) (any, error) {
	params, err := read[anthropic.MessageNewParams](one.Body)
	if err != nil {
		return nil, err
	}
	switch one.Name {
	case "count":
		counted, err := read[anthropic.MessageCountTokensParams](one.Body)
		if err != nil {
			return nil, err
		}
		count, err := client.Messages.CountTokens(ctx, counted)
		if err != nil {
			return nil, err
		}
		return object{"inputTokens": count.InputTokens}, nil
	case "models":
		pages := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{Limit: anthropic.Int(5)})
		models := []string{}
		for pages.Next() {
			models = append(models, pages.Current().ID)
		}
		return object{"models": models}, pages.Err()
	case "structured":
		message, err := client.Messages.New(ctx, params)
		if err != nil {
			return nil, err
		}
		return object{"object": json.RawMessage(textOf(message))}, nil
	case "abort":
		return abort(ctx, params)
	case "cut":
		_, err := stream(ctx, params, nil)
		return describe(err), nil
	case "refusals":
		missing := params
		missing.Model = anthropic.Model(one.MissingModel)
		_, first := poor.Messages.New(ctx, params)
		_, second := client.Messages.New(ctx, missing)
		_, third := stranger.Messages.New(ctx, params)
		return object{"refusals": []object{describe(first), describe(second), describe(third)}}, nil
	}
	return converse(ctx, one, params)
}

// Turn by turn: tools are answered, then the user says what is next.
func converse(ctx context.Context, one conversation, params anthropic.MessageNewParams) (any, error) {
	for {
		message, err := ask(ctx, params, one.IsStreamed)
		if err != nil {
			return nil, err
		}
		answer := []anthropic.ContentBlockParamUnion{}
		for _, block := range message.Content {
			if block.Type != "tool_use" {
				continue
			}
			result, err := read[anthropic.ToolResultBlockParam](one.Results[block.Name])
			if err != nil {
				return nil, err
			}
			result.ToolUseID = block.ID
			answer = append(answer, anthropic.ContentBlockParamUnion{OfToolResult: &result})
		}
		if len(answer) == 0 && len(one.Next) == 0 {
			return gotOf(message), nil
		}
		if len(answer) == 0 {
			answer = append(answer, anthropic.NewTextBlock(one.Next[0]))
			one.Next = one.Next[1:]
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(answer...))
	}
}

func ask(ctx context.Context, params anthropic.MessageNewParams, isStreamed bool) (*anthropic.Message, error) {
	if isStreamed {
		return stream(ctx, params, nil)
	}
	return client.Messages.New(ctx, params)
}

// stream puts a message together; hear, where it is given, sees each piece of its text.
func stream(ctx context.Context, params anthropic.MessageNewParams, hear func(string)) (*anthropic.Message, error) {
	events := client.Messages.NewStreaming(ctx, params)
	message := anthropic.Message{}
	for events.Next() {
		event := events.Current()
		if err := message.Accumulate(event); err != nil {
			return nil, err
		}
		if hear != nil && event.Delta.Text != "" {
			hear(event.Delta.Text)
		}
	}
	return &message, events.Err()
}

func abort(ctx context.Context, params anthropic.MessageNewParams) (any, error) {
	leaving, leave := context.WithCancel(ctx)
	text := ""
	_, err := stream(leaving, params, func(piece string) {
		text += piece
		if len(text) > 20 {
			leave()
		}
	})
	if !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("it was not left: %w", err)
	}
	return object{"text": text}, nil
}

func textOf(message *anthropic.Message) string {
	var text strings.Builder
	for _, block := range message.Content {
		text.WriteString(block.Text)
	}
	return text.String()
}

func gotOf(message *anthropic.Message) object {
	usage := message.Usage
	return object{
		"text":       textOf(message),
		"stopReason": message.StopReason,
		"usage": object{
			"input":      usage.InputTokens,
			"cacheRead":  usage.CacheReadInputTokens,
			"cacheWrite": usage.CacheCreationInputTokens,
			"output":     usage.OutputTokens,
		},
	}
}

func describe(err error) object {
	var fault *anthropic.Error
	if !errors.As(err, &fault) {
		return object{"fault": fmt.Sprint(err)}
	}
	var body struct{ Error struct{ Code string } }
	_ = json.Unmarshal([]byte(fault.RawJSON()), &body)
	return object{"fault": fmt.Sprintf("%T", fault), "status": fault.StatusCode, "code": body.Error.Code}
}

// read makes one of the SDK's types of JSON, in which a text that stands for a list of blocks is such a list.
func read[T any](value any) (T, error) {
	var made T
	text, err := json.Marshal(value)
	if err != nil {
		return made, err
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return made, err
	}
	text, err = json.Marshal(blocksFor(plain))
	if err != nil {
		return made, err
	}
	return made, json.Unmarshal(text, &made)
}

func blocksFor(value any) any {
	switch known := value.(type) {
	case []any:
		for place, one := range known {
			known[place] = blocksFor(one)
		}
	case object:
		for name, member := range known {
			said, isText := member.(string)
			if isText && (name == "content" || name == "system") {
				known[name] = []any{object{"type": "text", "text": said}}
			} else {
				known[name] = blocksFor(member)
			}
		}
	}
	return value
}
