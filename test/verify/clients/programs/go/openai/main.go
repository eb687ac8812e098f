// OpenAI's SDK for Go. It takes the conversations as JSON, reads them into the SDK's own types, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type conversation struct {
	Name         string                         `json:"name"`
	Body         struct{ Input []string }       `json:"body"`
	Chat         openai.ChatCompletionNewParams `json:"chat"`
	IsStreamed   bool                           `json:"isStreamed"`
	Results      map[string]string              `json:"chatResults"`
	MissingModel string                         `json:"missingModel"`
}

type object = map[string]any

var client = openai.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")+"/v1"), option.WithAPIKey(os.Getenv("KEY")))
var poor = clientOf(os.Getenv("POOR_KEY"))
var stranger = clientOf("sk-tp-nobodyhasthiskey")

func clientOf(key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")+"/v1"), option.WithAPIKey(key))
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
	switch one.Name {
	case "models":
		pages := client.Models.ListAutoPaging(ctx)
		models := []string{}
		for pages.Next() {
			models = append(models, pages.Current().ID)
		}
		return object{"models": models}, pages.Err()
	case "embeddings":
		return embed(ctx, one)
	case "structured":
		completion, err := client.Chat.Completions.New(ctx, one.Chat)
		if err != nil {
			return nil, err
		}
		return object{"object": json.RawMessage(completion.Choices[0].Message.Content)}, nil
	case "abort":
		return abort(ctx, one.Chat)
	case "cut":
		_, err := stream(ctx, one.Chat, nil)
		return describe(err), nil
	case "refusals":
		missing := one.Chat
		missing.Model = one.MissingModel
		_, first := poor.Chat.Completions.New(ctx, one.Chat)
		_, second := client.Chat.Completions.New(ctx, missing)
		_, third := stranger.Chat.Completions.New(ctx, one.Chat)
		return object{"refusals": []object{describe(first), describe(second), describe(third)}}, nil
	}
	return converse(ctx, one)
}

func embed(ctx context.Context, one conversation) (any, error) {
	list, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: one.Chat.Model,
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: one.Body.Input},
	})
	if err != nil {
		return nil, err
	}
	vectors := [][]float64{}
	for _, each := range list.Data {
		vectors = append(vectors, each.Embedding)
	}
	return object{"vectors": vectors}, nil
}

// Turn by turn: tools are answered until there is nothing more to answer.
func converse(ctx context.Context, one conversation) (any, error) {
	params := one.Chat
	for {
		completion, err := ask(ctx, params, one.IsStreamed)
		if err != nil {
			return nil, err
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return gotOf(completion), nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(one.Results[call.Function.Name], call.ID))
		}
	}
}

func ask(ctx context.Context, params openai.ChatCompletionNewParams, isStreamed bool) (*openai.ChatCompletion, error) {
	if !isStreamed {
		return client.Chat.Completions.New(ctx, params)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	return stream(ctx, params, nil)
}

// stream puts a completion together; hear, where it is given, sees each piece of its text.
func stream(
	ctx context.Context, params openai.ChatCompletionNewParams, hear func(string),
) (*openai.ChatCompletion, error) {
	chunks := client.Chat.Completions.NewStreaming(ctx, params)
	gathered := openai.ChatCompletionAccumulator{}
	for chunks.Next() {
		chunk := chunks.Current()
		if !gathered.AddChunk(chunk) {
			return nil, errors.New("a chunk that does not fit the others")
		}
		if hear != nil && len(chunk.Choices) > 0 {
			hear(chunk.Choices[0].Delta.Content)
		}
	}
	return &gathered.ChatCompletion, chunks.Err()
}

func abort(ctx context.Context, params openai.ChatCompletionNewParams) (any, error) {
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

func gotOf(completion *openai.ChatCompletion) object {
	usage, choice := completion.Usage, completion.Choices[0]
	cached, written := usage.PromptTokensDetails.CachedTokens, usage.PromptTokensDetails.CacheWriteTokens
	return object{
		"text":       choice.Message.Content,
		"stopReason": choice.FinishReason,
		"usage": object{
			"input":      usage.PromptTokens - cached - written,
			"cacheRead":  cached,
			"cacheWrite": written,
			"output":     usage.CompletionTokens,
		},
	}
}

func describe(err error) object {
	var fault *openai.Error
	if !errors.As(err, &fault) {
		return object{"fault": fmt.Sprint(err)}
	}
	return object{"fault": fmt.Sprintf("%T", fault), "status": fault.StatusCode, "code": fault.Code}
}
