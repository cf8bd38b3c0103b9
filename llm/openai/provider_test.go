package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// talk returns a model that answers each message of the user with two parallel calls, one more call, and a text.
func talk() *llmtest.Model {
	return llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		steps, users := 0, 0
		for _, m := range req.Messages {
			switch m.Role {
			case llm.User:
				users++
				steps = 0
			case llm.Assistant:
				steps++
			}
		}
		var reply llm.Reply
		switch {
		case len(req.Tools) == 0 || req.Params.ToolChoice == "none" || steps > 1:
			reply = llmtest.Say(fmt.Sprintf("Answer %d of %d.", steps, users))
		case steps == 1:
			reply = llmtest.Call(llmtest.ToolCall(fmt.Sprintf("call_%d_c", len(req.Messages)), "look", `{"city":"Rome"}`))
		default:
			reply = llmtest.Call(
				llmtest.ToolCall(fmt.Sprintf("call_%d_a", len(req.Messages)), "look", `{"city":"Paris"}`),
				llmtest.ToolCall(fmt.Sprintf("call_%d_b", len(req.Messages)), "list", `{}`))
			reply.Message.Content = "Let me look."
		}
		reply.Message.Reasoning = fmt.Sprintf("Step %d of %d <&>.", steps, users)
		reply.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5}
		return reply, nil
	})
}

// A conversation of more than thirty messages holds with every provider: with tools, parallel calls, a steering message, a message that
// asks for a correction, a summary, and a compaction. The provider refuses a request only if the client learns from it.
func TestConversationHoldsWithEveryProvider(t *testing.T) {
	t.Parallel()
	zero, parallel := 0.0, true
	for name, test := range map[string]struct {
		provider *standin.Provider
		model    string
		query    map[string]string
		refusals int // how many requests the provider may refuse
	}{
		"Gemini":          {standin.Gemini(), "gemini-3-pro", nil, 1},
		"DeepSeek":        {standin.DeepSeek(), "deepseek-v4-pro", nil, 0},
		"Kimi":            {standin.Kimi(), "kimi-k2.6", nil, 0},
		"OpenAI":          {standin.OpenAI(), "gpt-4o-mini", nil, 0},
		"Mistral":         {standin.Mistral(), "mistral-large", nil, 2},
		"Cloudflare":      {standin.Cloudflare(), "llama-4", nil, 1},
		"MiniMax":         {standin.MiniMax(), "MiniMax-M2", nil, 0},
		"OpenRouter":      {standin.OpenRouter(), "anthropic/claude-sonnet-5", nil, 0},
		"Azure":           {standin.Azure(), "o5", map[string]string{"api-version": "2026-01-01"}, 2},
		"Gemma":           {standin.Gemma(), "gemma-4", nil, 3},
		"Grok":            {standin.Grok(), "grok-4.3", nil, 0},
		"GLM":             {standin.GLM(), "glm-4.7", nil, 0},
		"Qwen":            {standin.Qwen(), "qwen3-max", nil, 0},
		"Cerebras":        {standin.Cerebras(), "gpt-oss-120b", nil, 0},
		"GLM at Cerebras": {standin.Cerebras(), "zai-glm-4.7", nil, 1},
	} {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, streams), func(t *testing.T) {
				t.Parallel()
				far := talk()
				endpoint := &standin.Endpoint{Client: far, Provider: test.provider}
				client := serve(t, endpoint, func(o *openai.Options) { o.NoStream, o.Query = !streams, test.query })
				req := llm.Request{
					Candidates: []llm.Candidate{{Name: "main", Model: test.model}},
					Params:     llm.Params{Temperature: &zero, MaxOutputTokens: 1000, ParallelToolCalls: &parallel},
					Tools: []llm.ToolSpec{
						{Name: "list", Parameters: json.RawMessage(`{"type":"object"}`)},
						{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
					},
					Messages: []llm.Message{{Role: llm.System, Content: "Be brief."}},
				}
				asked := 0
				ask := func() llm.Message {
					asked++
					reply, err := client.Complete(t.Context(), req)
					require.NoError(t, err, "request %d", asked)
					req.Messages = append(req.Messages, reply.Message)
					for _, c := range reply.Message.ToolCalls {
						req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: c.ID, Content: "Sunny."})
					}
					return reply.Message
				}
				for turn := range 6 {
					req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: fmt.Sprintf("Task %d", turn)})
					require.Len(t, ask().ToolCalls, 2)
					switch turn {
					case 2: // a steering message, directly after the results
						req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Rather in Rome."})
						require.Len(t, ask().ToolCalls, 2)
					case 4: // a compaction: a summary in place of the beginning, which then ends with the running turn's results
						kept := req.Messages[len(req.Messages)-3:]
						req.Messages = append([]llm.Message{req.Messages[0], {Role: llm.User, Content: "Summary. Task 4"}}, kept...)
					}
					require.Len(t, ask().ToolCalls, 1)
					require.Empty(t, ask().ToolCalls)
				}
				req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "The answer does not fit the schema. Correct it."})
				ask()
				req.Params.ToolChoice = "none"
				req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Summarise the conversation."})
				require.Empty(t, ask().ToolCalls)

				require.Empty(t, test.provider.Violations())
				require.Len(t, far.Requests(), asked, "each request was answered once")
				require.LessOrEqual(t, len(endpoint.Requests())-asked, test.refusals)
			})
		}
	}
}
