package standin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// demanding are the providers whose Messages API refuses messages with calls without thinking, with their error responses.
var demanding = map[string]struct {
	provider func() *standin.Provider
	says     string
}{
	"DeepSeek": {standin.DeepSeek, strings.Replace(deepSeekRefusal, "reasoning_content", "content[].thinking", 1)},
	"Kimi": {standin.Kimi, `{"type":"error","error":{"type":"invalid_request_error",` +
		`"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"},"request_id":"req_test"}`},
}

// conversation returns the body of a request: a message with a call whose first blocks are given, and the result of the call.
func conversation(blocks, rest string) string {
	return `{"model":"m","max_tokens":2000,"messages":[` + ask + "," + strings.Replace(use, "[", "["+blocks, 1) + "," + back + `]` + rest + `}`
}

// The thinking of calls must be there, whoever made the calls, and its signature does not count.
func TestMessagesOfOtherProvidersNeedTheThinkingOfCalls(t *testing.T) {
	t.Parallel()
	for name, test := range demanding {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := test.provider()
			endpoint := &standin.Endpoint{Provider: p, Client: llmtest.Script(llmtest.Say("a"), llmtest.Say("b"))}
			status, answer := postMessages(t, endpoint, conversation("", ""))
			require.Equal(t, http.StatusBadRequest, status)
			require.JSONEq(t, test.says, answer)
			status, _ = postMessages(t, endpoint, conversation(`{"type":"redacted_thinking","data":"x"},`, ""))
			require.Equal(t, http.StatusBadRequest, status)

			for _, accepted := range []string{
				conversation(`{"type":"thinking","thinking":" "},`, ""),
				conversation(`{"type":"thinking","thinking":"Hm.","signature":"of another provider"},`, ""),
				conversation("", `,"thinking":{"type":"disabled"}`),
			} {
				status, answer = postMessages(t, endpoint, accepted)
				require.Equal(t, http.StatusOK, status, answer)
			}
			require.Empty(t, p.Violations())
		})
	}
	empty := conversation(`{"type":"thinking","thinking":""},`, "")
	status, _ := postMessages(t, &standin.Endpoint{Provider: standin.DeepSeek(), Client: llmtest.Script(llmtest.Say("a"), llmtest.Say("b"))}, empty)
	require.Equal(t, http.StatusOK, status)
	status, answer := postMessages(t, &standin.Endpoint{Provider: standin.Kimi()}, empty)
	require.Equal(t, http.StatusBadRequest, status)
	require.JSONEq(t, demanding["Kimi"].says, answer)
}

// With "keep":"all", Kimi wants the thinking of messages without calls, too.
func TestKimiCanKeepAllThinkingOfMessages(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Provider: standin.Kimi(), Client: llmtest.Script(llmtest.Say("a"), llmtest.Say("b"))}
	body := func(blocks string) string {
		return `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024,"keep":"all"},"messages":[` + ask +
			`,{"role":"assistant","content":[` + blocks + `{"type":"text","text":"x"}]},` + ask + `]}`
	}
	status, answer := postMessages(t, endpoint, body(""))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "requires reasoning_content on every assistant message, but assistant message at index 1 is missing")
	status, answer = postMessages(t, endpoint, body(`{"type":"thinking","thinking":""},`))
	require.Equal(t, http.StatusOK, status, answer)
}

// Each reply has thinking. The signature is not Anthropic's, and DeepSeek's streams have none. Thinking that does not come back as it was is
// a violation at least.
func TestMessagesOfOtherProvidersThink(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]func() *standin.Provider{"DeepSeek": standin.DeepSeek, "Kimi": standin.Kimi, "MiniMax": standin.MiniMax} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider()
			call := llmtest.Call(llmtest.ToolCall("1", "f", `{}`))
			call.Message.Reasoning = "Hm."
			endpoint := &standin.Endpoint{Provider: p, Client: llmtest.Script(call, llmtest.Say("a"))}
			first := `{"model":"m","max_tokens":2000,"messages":[` + ask + `]`

			status, answer := postMessages(t, endpoint, first+"}")
			require.Equal(t, http.StatusOK, status)
			var whole struct{ Content []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(answer), &whole))
			thought := string(whole.Content[0])
			require.Contains(t, thought, `{"type":"thinking","thinking":"Hm.","signature":"`)
			status, _ = postMessages(t, llmtest.Handler(llmtest.Script()), conversation(thought+",", ""))
			require.Equal(t, http.StatusBadRequest, status, "Anthropic does not accept the signature")

			_, answer = postMessages(t, endpoint, first+`,"stream":true}`)
			require.Contains(t, answer, `"type":"thinking_delta"`)
			require.Equal(t, name != "DeepSeek", strings.Contains(answer, "signature_delta"))

			status, answer = postMessages(t, endpoint, conversation(thought+",", ""))
			require.Equal(t, http.StatusOK, status, answer)
			require.Empty(t, p.Violations())
			status, _ = postMessages(t, endpoint, conversation(`{"type":"thinking","thinking":"Ah."},`, ""))
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, []string{"messages[1]: the thinking is not the one that was sent"}, p.Violations())
		})
	}
	p := standin.MiniMax()
	call := llmtest.Call(llmtest.ToolCall("1", "f", `{}`))
	endpoint := &standin.Endpoint{Provider: p, Client: llmtest.Script(call, llmtest.Say("a"))}
	_, _ = postMessages(t, endpoint, `{"model":"m","max_tokens":2000,"messages":[`+ask+`]}`)
	status, _ := postMessages(t, endpoint, conversation("", ""))
	require.Equal(t, http.StatusOK, status, "MiniMax refuses nothing")
	require.Equal(t, []string{"messages[1]: the thinking is missing"}, p.Violations())
}
