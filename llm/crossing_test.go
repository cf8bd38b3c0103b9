package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// place is an endpoint of one provider.
type place struct {
	name, model string
	provider    *standin.Provider
	connect     func(t *testing.T, url string) llm.Client
}

// places returns one endpoint of each provider and API.
func places() []place {
	responses := place{"Responses", "gpt-5.6", nil, func(t *testing.T, url string) llm.Client {
		client, err := openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ResponsesAPI})
		require.NoError(t, err)
		return client
	}}
	chat := func(name, model string, provider *standin.Provider) place {
		return place{name, model, provider, func(t *testing.T, url string) llm.Client {
			client, err := openai.New(openai.Options{BaseURL: url + "/v1", Query: map[string]string{"api-version": "1"}})
			require.NoError(t, err)
			return client
		}}
	}
	messages := func(name, model string, provider *standin.Provider) place {
		return place{name, model, provider, func(t *testing.T, url string) llm.Client {
			client, err := anthropic.New(anthropic.Options{BaseURL: url})
			require.NoError(t, err)
			return client
		}}
	}
	return []place{
		responses,
		messages("Anthropic", "claude-opus-4-6", nil),
		messages("DeepSeek messages", "deepseek-v4-pro", standin.DeepSeek()),
		messages("Kimi messages", "kimi-k2.6", standin.Kimi()),
		messages("MiniMax messages", "MiniMax-M2", standin.MiniMax()),
		chat("Gemini", "gemini-3-pro", standin.Gemini()),
		chat("DeepSeek", "deepseek-v4-pro", standin.DeepSeek()),
		chat("Kimi", "kimi-k2.6", standin.Kimi()),
		chat("OpenAI", "gpt-4o-mini", standin.OpenAI()),
		chat("Mistral", "mistral-large", standin.Mistral()),
		chat("Cloudflare", "llama-4", standin.Cloudflare()),
		chat("MiniMax", "MiniMax-M2", standin.MiniMax()),
		chat("OpenRouter", "anthropic/claude-sonnet-5", standin.OpenRouter()),
		chat("Azure", "o5", standin.Azure()),
		chat("Gemma", "gemma-4", standin.Gemma()),
	}
}

// A conversation that began with one provider goes on with every other one, also within a turn, and then with the first one again. A
// fallback does exactly this. No provider gets what only another one understands.
func TestConversationMovesBetweenProviders(t *testing.T) {
	t.Parallel()
	for _, from := range places() {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			for _, to := range places() {
				far := llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
					n := len(req.Messages)
					reply := llmtest.Call(llmtest.ToolCall(fmt.Sprintf("toolu.%060d", n), "look", `{"city":"Rome"}`), llmtest.ToolCall(fmt.Sprintf("call_%d", n), "look", `{}`))
					reply.Message.Content, reply.Message.Reasoning = "Let me look.", "Hm."
					return reply, nil
				})
				req := llm.Request{
					Tools:    []llm.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
					Messages: []llm.Message{{Role: llm.System, Content: "Be brief."}, {Role: llm.User, Content: "How is the weather?"}},
				}
				clients := map[string]llm.Client{}
				for i, at := range []place{from, to, to, from, to} {
					client := clients[at.name]
					if client == nil {
						server := httptest.NewServer(&standin.Endpoint{Client: far, Provider: at.provider})
						t.Cleanup(server.Close)
						client = at.connect(t, server.URL)
						clients[at.name] = client
					}
					req.Candidates = []llm.Candidate{{Name: at.name, Model: at.model}}
					reply, err := client.Complete(t.Context(), req)
					require.NoError(t, err, "%s to %s, request %d", from.name, to.name, i)
					req.Messages = append(req.Messages, reply.Message)
					for _, c := range reply.Message.ToolCalls {
						req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: c.ID, Content: "Sunny."})
					}
					if i == 2 {
						req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "And tomorrow?"})
					}
				}
				if from.name != to.name && to.provider != nil {
					require.Empty(t, to.provider.Violations(), "%s to %s", from.name, to.name)
				}
			}
		})
	}
}
