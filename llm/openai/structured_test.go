package openai_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// An agent with tools gets an answer in the form of its schema from every provider. What a provider does not take is learned from a few
// refusals, once. The schema always reaches the model.
func TestStructuredAnswerComesFromEveryProvider(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"mild":{"type":"boolean"}},"required":["mild"]}`
	for name, test := range map[string]struct {
		provider *standin.Provider
		model    string
		refusals int
	}{
		"OpenAI":     {standin.OpenAI(), "gpt-5", 0},
		"DeepSeek":   {standin.DeepSeek(), "deepseek-v4-pro", 1},
		"Groq":       {standin.Groq(), "llama", 1},
		"Cerebras":   {standin.Cerebras(), "gpt-oss", 1},
		"Grok":       {standin.Grok(), "grok-4.3", 0},
		"GLM":        {standin.GLM(), "glm-4.7", 0},
		"Qwen":       {standin.Qwen(), "qwen3-max", 1},
		"Gemini 2.5": {standin.Gemini(), "gemini-2.5-flash", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answered atomic.Int32
			far := llmtest.Func(func(_ context.Context, _ llm.Request) (llm.Reply, error) {
				answered.Add(1)
				return llmtest.Say(`{"mild":true}`), nil
			})
			endpoint := &standin.Endpoint{Client: far, Provider: test.provider}
			client := serve(t, endpoint, func(o *openai.Options) { o.API = openai.ChatAPI })
			req := ask()
			req.Candidates[0].Model = test.model
			req.Tools = offered()[:1]
			req.Params.OutputSchema = json.RawMessage(schema)
			for range 2 {
				reply, err := client.Complete(t.Context(), req)
				require.NoError(t, err)
				require.JSONEq(t, `{"mild":true}`, reply.Message.Content)
			}
			requests := endpoint.Requests()
			require.Len(t, requests, test.refusals+2, "the second request is not refused")
			for _, r := range requests {
				require.Contains(t, strings.ReplaceAll(string(r.Body), `\"`, `"`), schema)
			}
			require.EqualValues(t, 2, answered.Load())

			// Another schema may be taken, so it is tried.
			req.Params.OutputSchema = json.RawMessage(`{"type":"object"}`)
			_, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
			require.Len(t, endpoint.Requests(), 2*test.refusals+3)
		})
	}
}
