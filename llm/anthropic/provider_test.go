package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// talk is a scripted model. It answers each message of the user with a call that it thinks about, one that it does not think about, and a
// text.
func talk() *llmtest.Model {
	return llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		steps := 0
		for _, m := range req.Messages {
			switch m.Role {
			case llm.User:
				steps = 0
			case llm.Assistant:
				steps++
			}
		}
		if steps > 1 || req.Params.ToolChoice == "none" {
			return llmtest.Say(fmt.Sprintf("Answer %d.", len(req.Messages))), nil
		}
		reply := llmtest.Call(llmtest.ToolCall(fmt.Sprintf("call_%d", len(req.Messages)), "look", `{}`))
		if steps == 0 {
			reply.Message.Reasoning = fmt.Sprintf("Hm, %d.", len(req.Messages))
		}
		return reply, nil
	})
}

// reloaded returns messages as they are after a replay: from their JSON, and without the reasoning if `reasoned` is false, as for clients that
// do not send it.
func reloaded(t *testing.T, messages []llm.Message, reasoned bool) []llm.Message {
	t.Helper()
	encoded, err := json.Marshal(messages)
	require.NoError(t, err)
	var all []llm.Message
	require.NoError(t, json.Unmarshal(encoded, &all))
	for i := range all {
		if !reasoned {
			all[i].Reasoning = ""
		}
	}
	return all
}

// A conversation with calls, calls of another provider, a reload, two compactions and a summary passes with every provider that demands
// its thinking. Of a provider that it knows, by the host or by the name of the model, the client knows the rule. Of a proxy, it learns it
// from one refusal, under whatever name.
func TestConversationHoldsWithEveryProviderThatWantsItsThinking(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider  *standin.Provider
		at, model string
		refusals  int // how many requests the provider may refuse
	}{
		"DeepSeek":                       {standin.DeepSeek(), "http://api.deepseek.com/anthropic", "deepseek-v4-pro", 0},
		"DeepSeek with a name of Claude": {standin.DeepSeek(), "http://api.deepseek.com/anthropic", "claude-opus-4-6", 0},
		"DeepSeek behind a proxy":        {standin.DeepSeek(), "http://proxy.example", "deepseek/deepseek-v4-pro", 0},
		"Kimi":                           {standin.Kimi(), "http://api.moonshot.ai/anthropic", "kimi-k2.6", 0},
		"Kimi for coding":                {standin.Kimi(), "http://api.kimi.com/coding", "k3", 0},
		"MiniMax":                        {standin.MiniMax(), "http://api.minimax.io/anthropic", "MiniMax-M2", 0},
		"an alias of DeepSeek":           {standin.DeepSeek(), "http://proxy.example", "best", 1},
		"an alias of Kimi":               {standin.Kimi(), "http://proxy.example", "best", 1},
		"a false name of DeepSeek":       {standin.DeepSeek(), "http://proxy.example", "claude-sonnet-4-5", 1},
		"a false name of Kimi":           {standin.Kimi(), "http://proxy.example", "claude-sonnet-4-5", 1},
	} {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, streams), func(t *testing.T) {
				t.Parallel()
				far := talk()
				endpoint := &standin.Endpoint{Client: far, Provider: test.provider}
				client := serve(t, endpoint, func(o *anthropic.Options) { o.BaseURL, o.NoStream = test.at, !streams })
				known := client.(*anthropic.Client).SendsReasoning(test.model) //nolint:forcetypeassert // serve returns one
				require.Equal(t, test.refusals == 0, known)
				req := llm.Request{
					Candidates: []llm.Candidate{{Name: "main", Model: test.model}},
					Tools:      []llm.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}},
					Messages:   []llm.Message{{Role: llm.System, Content: "Be brief."}},
				}
				asked := 0
				ask := func() llm.Message {
					asked++
					reply, err := client.Complete(t.Context(), req)
					require.NoError(t, err, "request %d", asked)
					req.Messages = append(req.Messages, reply.Message)
					for _, c := range reply.Message.ToolCalls {
						req.Messages = append(req.Messages, result(c.ID, "Sunny."))
					}
					return reply.Message
				}
				compact := func(keep int) {
					kept := req.Messages[len(req.Messages)-keep:]
					req.Messages = append([]llm.Message{req.Messages[0], user("Summary.")}, kept...)
				}
				for turn := range 6 {
					req.Messages = append(req.Messages, user(fmt.Sprintf("Task %d", turn)))
					require.Len(t, ask().ToolCalls, 1)
					switch turn {
					case 1: // another provider answers in this turn
						foreign := called(llmtest.ToolCall("foreign", "look", "{}"))
						foreign.Reasoning, foreign.Opaque = "Foreign.", llm.Opaque{Family: "anthropic/claude#12345678", Data: "[" + thought1 + `,{"type":"tool_use"}]`}
						req.Messages = append(req.Messages, foreign, result("foreign", "Sunny."))
					case 2:
						compact(4)
					case 4: // this compaction keeps what the first one has kept
						compact(15)
					case 3:
						req.Messages = reloaded(t, req.Messages, known)
					}
					for calls := true; calls; {
						calls = len(ask().ToolCalls) > 0
					}
				}
				req.Params.ToolChoice = "none"
				req.Messages = append(req.Messages, user("Summarise the conversation."))
				require.Empty(t, ask().ToolCalls)

				if known {
					require.Empty(t, test.provider.Violations())
				}
				require.Len(t, far.Requests(), asked, "each request was answered once")
				require.LessOrEqual(t, len(endpoint.Requests())-asked, test.refusals)
			})
		}
	}
}

// A conversation whose thinking is gone, and one that Kimi wants whole, are accepted with a blank thinking. An assistant message with parts
// gets one, too.
func TestThinkingThatIsGoneIsReplacedByABlank(t *testing.T) {
	t.Parallel()
	const blank = `{"type":"thinking","thinking":" ","signature":""}`
	parts := called(llmtest.ToolCall("1", "look", "{}"))
	parts.Parts = []llm.Part{{Type: "text", Text: "I look."}}
	for name, test := range map[string]struct {
		provider *standin.Provider
		messages []llm.Message
		extra    string // the value of "thinking"
		says     string // the content of the assistant message
	}{
		"calls of DeepSeek":            {standin.DeepSeek(), []llm.Message{called(llmtest.ToolCall("1", "look", "{}")), result("1", "x")}, "", `[` + blank + `,{"type":"tool_use"`},
		"calls of Kimi":                {standin.Kimi(), []llm.Message{called(llmtest.ToolCall("1", "look", "{}")), result("1", "x")}, "", `[` + blank + `,{"type":"tool_use"`},
		"a message with parts":         {standin.DeepSeek(), []llm.Message{parts, result("1", "x")}, "", `[` + blank + `,{"type":"text","text":"I look."},{"type":"tool_use"`},
		"all messages":                 {standin.Kimi(), []llm.Message{said("b"), user("c")}, `{"type":"enabled","budget_tokens":1024,"keep":"all"}`, `[` + blank + `,{"type":"text","text":"b"}]`},
		"no messages, if not demanded": {standin.Kimi(), []llm.Message{said("b"), user("c")}, "", `[{"type":"text","text":"b"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := &standin.Endpoint{Client: hi(), Provider: test.provider}
			client := serve(t, endpoint, noCache)
			req := ask(append([]llm.Message{user("a")}, test.messages...)...)
			if test.extra != "" {
				req.Params.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(test.extra)}
			}
			for range 2 {
				_, err := client.Complete(t.Context(), req)
				require.NoError(t, err)
			}
			all := endpoint.Requests()
			require.LessOrEqual(t, len(all), 3, "the client has learned from one refusal")
			require.True(t, strings.HasPrefix(messagesOf(t, all[len(all)-1].Body)[1], test.says), messagesOf(t, all[len(all)-1].Body)[1])
		})
	}
}

// These are refusals of thinking that is missing, of several providers and times.
func TestMissingThinkingIsLearnedFromEveryWording(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		"The `content[].thinking` in the thinking mode must be passed back to the API.",
		"The `reasoning_content` in the thinking mode must be passed back to the API.",
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index 4",
		"Missing thinking block in the assistant message at message index 11. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
		"Missing `reasoning_content` field in the assistant message at message index 2.",
	} {
		p := &picky{next: &standin.Endpoint{Client: hi(), Lenient: true}, refuse: func(body []byte) (int, string) {
			if bytes.Contains(body, []byte(`"type":"thinking"`)) {
				return 0, ""
			}
			return 400, refusal(says)
		}}
		client := serve(t, p)
		for range 2 {
			_, err := client.Complete(t.Context(), ask(user("a"), called(llmtest.ToolCall("1", "f", "{}")), result("1", "x")))
			require.NoError(t, err, says)
		}
		require.Len(t, p.bodies(), 3, says)
	}
}

// An endpoint that wants the thinking back and refuses what it gets is asked without thinking, and each request with the same body once. A
// chat is not held.
func TestAnEndpointThatAcceptsNoThinkingIsAskedWithoutIt(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]map[string]json.RawMessage{
		"the client's": nil,
		"the caller's": {"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &picky{next: &standin.Endpoint{Client: hi()}, refuse: func(body []byte) (int, string) {
				switch {
				case bytes.Contains(body, []byte(`"type":"thinking"`)):
					return 400, refusal("messages.1.content.0: Invalid `signature` in `thinking` block")
				case !bytes.Contains(body, []byte(disabled)):
					return 400, refusal("The `content[].thinking` in the thinking mode must be passed back to the API.")
				}
				return 0, ""
			}}
			client := serve(t, p)
			req := ask(user("a"), called(llmtest.ToolCall("1", "f", "{}")), result("1", "x"))
			req.Params.ReasoningEffort, req.Params.Extra = "high", extra
			for range 2 {
				_, err := client.Complete(t.Context(), req)
				require.NoError(t, err)
			}
			require.NotContains(t, string(p.bodies()[len(p.bodies())-1]), "effort")
			require.LessOrEqual(t, len(p.bodies()), 2*4)
		})
	}
}

// A proxy may ask now one provider and now another under one name. DeepSeek does not get what only Claude can read, and Claude gets nothing
// that it has not signed.
func TestAProxyMayChangeBetweenClaudeAndOthers(t *testing.T) {
	t.Parallel()
	deepSeek := standin.DeepSeek()
	far := talk()
	claude, other := &standin.Endpoint{Client: far}, &standin.Endpoint{Client: far, Provider: deepSeek}
	var turn atomic.Int32
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		[]*standin.Endpoint{claude, other}[turn.Load()%2].ServeHTTP(w, r)
	}))
	req := ask(user("a"))
	req.Tools = []llm.ToolSpec{{Name: "look"}}
	redactedCall := called(llmtest.ToolCall("0", "look", "{}"))
	redactedCall.Opaque = llm.Opaque{Family: anthropic.FamilyOf("api.anthropic.com", "test-model", req), Data: "[" + redacted + `,{"type":"tool_use"}]`}
	req.Messages = append(req.Messages, redactedCall, result("0", "x"))
	for range 4 {
		req.Messages = append(req.Messages, user(fmt.Sprint("Task ", turn.Add(1))))
		for {
			reply, err := client.Complete(t.Context(), req)
			require.NoError(t, err, "turn %d", turn.Load())
			req.Messages = append(req.Messages, reply.Message)
			if len(reply.Message.ToolCalls) == 0 {
				break
			}
			req.Messages = append(req.Messages, result(reply.Message.ToolCalls[0].ID, "Sunny."))
		}
	}
	require.Empty(t, deepSeek.Violations())
	for _, r := range other.Requests() {
		require.NotContains(t, string(r.Body), disabled, "DeepSeek is asked with thinking")
	}
}
