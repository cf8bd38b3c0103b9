package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// A model that cannot be forced to call a tool while it thinks is asked to choose by itself, in both APIs. This is learned once. Calls
// stay forbidden where they were forbidden.
func TestAForcedCallThatIsRefusedIsLearned(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"Qwen":     "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode",
		"Kimi":     "tool_choice 'specified' is incompatible with thinking enabled",
		"DeepSeek": "Thinking mode does not support this tool_choice",
		"Claude":   "Thinking may not be enabled when tool_choice forces tool use.",
	} {
		for _, api := range []string{openai.ChatAPI, openai.ResponsesAPI} {
			t.Run(name+" "+api, func(t *testing.T) {
				t.Parallel()
				var asked []any
				far := llmtest.Handler(llmtest.Func(always(llmtest.Say("Hi."))))
				client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					choice := fieldOf(t, r, "tool_choice")
					if asked = append(asked, choice); choice != "auto" && choice != "none" {
						http.Error(w, `{"error":{"message":"`+says+`","type":"invalid_request_error"}}`, http.StatusBadRequest)
						return
					}
					far.ServeHTTP(w, r)
				}), func(o *openai.Options) { o.API = api })
				req := ask()
				req.Tools = []llm.ToolSpec{{Name: "look"}}
				for _, choice := range []string{"look", "required", "none"} {
					req.Params.ToolChoice = choice
					_, err := client.Complete(t.Context(), req)
					require.NoError(t, err)
				}
				require.Equal(t, []any{"auto", "auto", "none"}, asked[1:])
			})
		}
	}
}

// The stand-ins of Kimi and DeepSeek refuse a forced call while the model thinks.
func TestThinkingProvidersGetNoForcedCall(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]*standin.Provider{"kimi-k2.6": standin.Kimi(), "deepseek-v4-pro": standin.DeepSeek()} {
		endpoint := &standin.Endpoint{Client: llmtest.Func(always(llmtest.Say("Hi."))), Provider: provider}
		client := serve(t, endpoint)
		req := ask()
		req.Candidates[0].Model, req.Tools, req.Params.ToolChoice = name, offered()[:1], "required"
		for range 2 {
			_, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
		}
		require.Len(t, endpoint.Requests(), 3)
	}
}

// An error about another mistake in the tool choice is not taken for a refusal of it.
func TestAChoiceOfAnUnknownToolIsNotDropped(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		"Tool choice 'look' not found in 'tools' parameter.", "tool_choice: unknown tool look", "unknown tool look in tool_choice",
		"Tool choice is required, but model did not call a tool",
		`\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
	} {
		e := &teacher{status: http.StatusBadRequest, says: `{"error":{"message":"` + says + `"}}`, accepts: func(map[string]any) bool { return false }}
		req := ask()
		req.Tools, req.Params.ToolChoice = []llm.ToolSpec{{Name: "look"}}, "look"
		_, err := serve(t, e).Complete(t.Context(), req)
		require.Error(t, err)
		require.Equal(t, 1, e.asked, says)
	}
}
