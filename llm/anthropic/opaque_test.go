package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// These are blocks as Anthropic sends them.
const (
	thought1 = `{"type":"thinking","thinking":"First \u003cthink\u003e…","signature":"EqoBCkgIARABGAIiQ/L1+x=="}`
	redacted = `{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}`
	thought2 = `{"type":"thinking","thinking":"","signature":"sig2==","later":[1.0]}`
)

// replyBody returns the body of a response with the given finish reason and content.
func replyBody(reason string, blocks ...string) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":2}}`,
		strings.Join(blocks, ","), reason)
}

// answering returns a handler that sends the given bodies, and the bodies of the requests.
func answering(bodies ...string) *picky {
	n := 0
	return &picky{refuse: func([]byte) (int, string) {
		n++
		return 200, bodies[min(n, len(bodies))-1]
	}}
}

// messagesOf returns the content of each message in a request.
func messagesOf(t *testing.T, body []byte) []string {
	t.Helper()
	var wire struct {
		Messages []struct{ Content json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(body, &wire))
	var all []string
	for _, m := range wire.Messages {
		all = append(all, string(m.Content))
	}
	return all
}

// Blocks with a signature come back byte for byte, and in their places among texts and calls.
func TestThinkingComesBackAsItWas(t *testing.T) {
	t.Parallel()
	content := []string{
		thought1, redacted, `{"type":"text","text":"Let me "}`, thought2, `{"type":"text","text":"look. ü"}`,
		`{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}`, thought1,
		`{"type":"tool_use","id":"toolu_2","name":"g","input":{}}`,
	}
	p := answering(replyBody("tool_use", content...), replyBody("end_turn", `{"type":"text","text":"Done."}`))
	client := serve(t, p, noCache)
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "f"}, {Name: "g"}}

	reply, err := client.Complete(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "Let me look. ü", reply.Message.Content)
	require.Equal(t, "First <think>…\n\nFirst <think>…", reply.Message.Reasoning)
	require.Equal(t, anthropic.FamilyOf("api.anthropic.com", "test-model", req), reply.Message.Opaque.Family)
	require.NotContains(t, reply.Message.Opaque.Data, "look", "the text is not stored twice")

	encoded, err := json.Marshal(reply.Message) // as in a history
	require.NoError(t, err)
	var stored llm.Message
	require.NoError(t, json.Unmarshal(encoded, &stored))
	req.Messages = append(req.Messages, stored, result("toolu_1", "x"), result("toolu_2", "y"))
	_, err = client.Complete(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "["+strings.Join(content, ",")+"]", messagesOf(t, p.bodies()[1])[1])

	// Data of another provider is ignored.
	req.Messages[1].Opaque.Family = "responses:api.openai.com"
	_, err = client.Complete(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, `[{"type":"text","text":"Let me look. ü"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]`,
		messagesOf(t, p.bodies()[2])[1])
}

// A streamed reply has the same data as one that is not streamed.
func TestStreamedThinkingComesBackToo(t *testing.T) {
	t.Parallel()
	given := llmtest.Call(llmtest.ToolCall("toolu_1", "f", `{"a":"<b>"}`))
	given.Message.Content, given.Message.Reasoning = "Look.", "Hm <i> \"ü\" \u2028"
	var opaque []llm.Opaque
	for range 2 {
		endpoint := &standin.Endpoint{Client: llmtest.Script(given, llmtest.Say("Done."))}
		client := serve(t, endpoint)
		if len(opaque) == 1 {
			client = serve(t, endpoint, noStream)
		}
		req := ask()
		req.Tools, req.Params.ReasoningEffort = []llm.ToolSpec{{Name: "f"}}, "low"
		reply, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		opaque = append(opaque, reply.Message.Opaque)

		// The stand-in refuses a block that was changed or moved.
		req.Messages = append(req.Messages, reply.Message, result("toolu_1", "x"))
		_, err = client.Complete(t.Context(), req)
		require.NoError(t, err)
		require.Contains(t, string(endpoint.Requests()[1].Body), `"signature"`)
	}
	require.Equal(t, opaque[0], opaque[1])
}

// If the text or the calls were changed after the reply, the thinking stays where it was.
func TestThinkingStaysInAChangedMessage(t *testing.T) {
	t.Parallel()
	data := "[" + thought1 + `,{"type":"text","length":5},` + redacted + `,{"type":"text","length":3},{"type":"tool_use"},` + thought2 + `,{"type":"tool_use"}]`
	one, two, three := llmtest.ToolCall("1", "f", "{}"), llmtest.ToolCall("2", "f", "{}"), llmtest.ToolCall("3", "f", "{}")
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	use := func(n int) string { return fmt.Sprintf(`{"type":"tool_use","id":"%d","name":"f","input":{}}`, n) }
	for name, test := range map[string]struct {
		message llm.Message
		want    []string
	}{
		"the same":    {llm.Message{Content: "Hello yo", ToolCalls: []llm.ToolCall{one, two}}, []string{thought1, text("Hello"), redacted, text(" yo"), use(1), thought2, use(2)}},
		"other text":  {llm.Message{Content: "Hi", ToolCalls: []llm.ToolCall{one, two}}, []string{thought1, text("Hi"), redacted, use(1), thought2, use(2)}},
		"no text":     {llm.Message{ToolCalls: []llm.ToolCall{one, two}}, []string{thought1, redacted, use(1), thought2, use(2)}},
		"one call":    {llm.Message{Content: "Hello yo", ToolCalls: []llm.ToolCall{one}}, []string{thought1, text("Hello"), redacted, text(" yo"), use(1)}},
		"three calls": {llm.Message{Content: "Hello yo", ToolCalls: []llm.ToolCall{one, two, three}}, []string{thought1, text("Hello"), redacted, text(" yo"), use(1), thought2, use(2), use(3)}},
		"no calls":    {llm.Message{Content: "Hello yo"}, []string{thought1, text("Hello"), redacted, text(" yo")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.message.Role, test.message.Opaque = llm.Assistant, llm.Opaque{Family: familyOfA, Data: data}
			req := ask(user("a"), test.message)
			for _, call := range test.message.ToolCalls {
				req.Messages = append(req.Messages, result(call.ID, "x"))
			}
			p := answering(replyBody("end_turn", `{"type":"text","text":"Done."}`))
			_, err := serve(t, p, noCache).Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, "["+strings.Join(test.want, ",")+"]", messagesOf(t, p.bodies()[0])[1])
		})
	}
}

// A layout without a place for the text has the text before the calls.
func TestATextThatWasAddedComesBeforeTheCalls(t *testing.T) {
	t.Parallel()
	message := llm.Message{Role: llm.Assistant, Content: "Hi", ToolCalls: []llm.ToolCall{llmtest.ToolCall("1", "f", "{}")},
		Opaque: llm.Opaque{Family: familyOfA, Data: "[" + thought1 + `,{"type":"tool_use"}]`}}
	p := answering(replyBody("end_turn", `{"type":"text","text":"Done."}`))
	_, err := serve(t, p, noCache).Complete(t.Context(), ask(user("a"), message, result("1", "x")))
	require.NoError(t, err)
	require.Equal(t, "["+thought1+`,{"type":"text","text":"Hi"},{"type":"tool_use","id":"1","name":"f","input":{}}]`, messagesOf(t, p.bodies()[0])[1])
}

// Data that is not a layout is ignored.
func TestBrokenDataIsIgnored(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "null", "{", "{}", `["x",1,null,{"type":7}]`, `[{"type":"text","length":-5}]`, `[{"type":"text","length":99}]`} {
		message := said("Hi")
		message.Opaque = llm.Opaque{Family: familyOfA, Data: data}
		p := answering(replyBody("end_turn", `{"type":"text","text":"Done."}`))
		_, err := serve(t, p, noCache).Complete(t.Context(), ask(user("a"), message, user("b")))
		require.NoError(t, err)
		require.Equal(t, `[{"type":"text","text":"Hi"}]`, messagesOf(t, p.bodies()[0])[1], data)
	}
}

// Some providers do not sign their thinking, and want it back. An endpoint that refuses it does not get it again.
func TestThinkingWithoutASignatureGoesBackUntilItIsRefused(t *testing.T) {
	t.Parallel()
	first, refuse := true, rules(rule{`"thinking":"Hm"`, "messages.1.content.0: Invalid `signature` in `thinking` block"})
	p := &picky{next: &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."), llmtest.Say("Hi.")), Lenient: true}, refuse: func(body []byte) (int, string) {
		if first {
			first = false
			return 200, replyBody("end_turn", `{"type":"thinking","thinking":"Hm","signature":""}`, `{"type":"text","text":"Hi"}`)
		}
		return refuse(body)
	}}
	client := serve(t, p)
	reply, err := client.Complete(t.Context(), ask(user("a")))
	require.NoError(t, err)
	require.Equal(t, "Hm", reply.Message.Reasoning)
	for range 2 {
		_, err = client.Complete(t.Context(), ask(user("a"), reply.Message, user("b")))
		require.NoError(t, err)
	}
	bodies := p.bodies()
	require.Len(t, bodies, 4, "the client has learned from one refusal")
	require.Contains(t, string(bodies[1]), `"thinking":"Hm"`)
	require.NotContains(t, string(bodies[2]), `"thinking":"Hm"`)
	require.NotContains(t, string(bodies[3]), `"thinking":"Hm"`)
}

// A turn of another provider has no thinking. With a budget, the API refuses to continue such a turn with thinking, so the client
// continues it without. Adaptive thinking has no such rule.
func TestATurnOfAnotherProviderContinuesWithoutABudget(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: hi()}
	p := &picky{refuse: rules(noAdaptive), next: endpoint}
	client := serve(t, p)
	complete := func(messages ...llm.Message) string {
		req := ask(messages...)
		req.Params.ReasoningEffort = "low"
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		return string(p.bodies()[len(p.bodies())-1])
	}
	foreign := called(llmtest.ToolCall("1", "f", "{}"))
	const budget = `"thinking":{"type":"enabled"`
	require.Contains(t, complete(user("a")), budget)
	require.NotContains(t, complete(user("a"), foreign, result("1", "x")), budget)
	require.NotContains(t, complete(user("a"), foreign, result("1", "x"), user("Hurry.")), budget)
	require.Contains(t, complete(user("a"), foreign, result("1", "x"), said("b"), user("c")), budget)
	require.Len(t, p.bodies(), 5, "only the first request was refused")

	p = &picky{refuse: rules(), next: endpoint}
	client = serve(t, p)
	require.Contains(t, complete(user("a"), foreign, result("1", "x")), adaptive)
}

// If the API refuses the blocks of a conversation, the client sends them no more in this request. It tries again with the next one.
func TestRefusedBlocksAreLeftOut(t *testing.T) {
	t.Parallel()
	message := said("Hi")
	message.Opaque = llm.Opaque{Family: familyOfA, Data: "[" + thought1 + `,{"type":"text","length":2}]`}
	for _, says := range []string{
		"messages.1.content.0: Invalid `signature` in `thinking` block",
		"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
	} {
		p := &picky{refuse: rules(rule{`"signature"`, says}), next: llmtest.Handler(hi())}
		client := serve(t, p)
		for n := range 2 {
			_, err := client.Complete(t.Context(), ask(user("a"), message, user("b")))
			require.NoError(t, err)
			require.Len(t, p.bodies(), 2*n+2)
		}
	}
}

// A budget from the extra parameters, too, is not sent if the API would refuse it.
func TestABudgetOfTheCallerIsLeftOutIfItIsRefused(t *testing.T) {
	t.Parallel()
	req := ask(user("a"), called(llmtest.ToolCall("1", "f", "{}")), result("1", "x"))
	req.Params.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}
	require.NotContains(t, sent(t, req), "thinking")
	req.Messages = req.Messages[:1]
	require.Contains(t, sent(t, req), "thinking")
	require.Len(t, req.Params.Extra, 1)
}

// Blocks of other types come back, too.
func TestUnknownBlocksComeBack(t *testing.T) {
	t.Parallel()
	stream := `data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}
data: {"type":"content_block_stop","index":0}
data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}
data: {"type":"content_block_stop","index":1}
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Found."}}
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
data: {"type":"message_stop"}
`
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.ReplaceAll(stream, "\n", "\n\n"))
	}))
	reply, err := client.Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, "Found.", reply.Message.Content)
	require.Equal(t, `[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},`+
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","length":6}]`, reply.Message.Opaque.Data)
}

// A thinking block is bound to all that was before it. After a compaction or a change of the tools, the client sends the text and the
// calls without the block.
func TestThinkingIsBoundToItsConversation(t *testing.T) {
	t.Parallel()
	p := answering(replyBody("end_turn", thought1, `{"type":"text","text":"Sunny."}`), replyBody("end_turn", `{"type":"text","text":"Bye."}`))
	client := serve(t, p, noCache)
	reply, err := client.Complete(t.Context(), ask(user("a")))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		messages []llm.Message
		tools    []llm.ToolSpec
		sent     bool
	}{
		"the same":       {[]llm.Message{user("a"), reply.Message, user("b")}, nil, true},
		"a summary":      {[]llm.Message{user("Summary: a"), reply.Message, user("b")}, nil, false},
		"another prompt": {[]llm.Message{{Role: llm.System, Content: "s"}, user("a"), reply.Message, user("b")}, nil, false},
		"other tools":    {[]llm.Message{user("a"), reply.Message, user("b")}, []llm.ToolSpec{{Name: "f"}}, false},
	} {
		req := ask(test.messages...)
		req.Tools = test.tools
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		bodies := p.bodies()
		require.Equal(t, test.sent, strings.Contains(string(bodies[len(bodies)-1]), `"signature"`), name)
	}
}
