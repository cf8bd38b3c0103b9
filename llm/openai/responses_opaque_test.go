package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// The items of these tests are in the form in which OpenAI sends them back. White space within strings and escapes must stay.
const (
	reasoned  = `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAA\u003d=/+","summary":[{"type":"summary_text","text":"a  b\u00fc <&>"}],"unknown":1.0}`
	reasoned2 = `{"id":"rs_2","type":"reasoning","encrypted_content":"gBBBB","summary":[]}`
	said      = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","annotations":[],"text":"Let me look."}]}`
	concluded = `{"id":"msg_2","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[{"type":"output_text","annotations":[],"text":"Sünny."}]}`
	called    = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"list_files","arguments":"{}"}`

	saidBack      = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}],"phase":"commentary"}`
	concludedBack = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Sünny."}],"phase":"final_answer"}`
	calledBack    = `{"type":"function_call","call_id":"call_1","name":"list_files","arguments":"{}"}`
)

// output returns the body of a response with the given items.
func output(items ...string) string {
	return `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[` + strings.Join(items, ",") + `]}`
}

// recorder is an endpoint that responds with a body and records the items of the last request.
type recorder struct {
	t    *testing.T
	body string

	mu    sync.Mutex
	items []string
	whole map[string]json.RawMessage
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	encoded, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	r.whole, r.items = decoded(r.t, encoded)
	r.mu.Unlock()
	_, _ = io.WriteString(w, r.body)
}

// returned sends the question, and sends the message of the reply back after `edit` has changed it. It returns the items of the second
// request, without the question and the results.
func returned(t *testing.T, body string, edit func(*llm.Message)) (reply llm.Reply, items []string) {
	t.Helper()
	endpoint := &recorder{t: t, body: body}
	client := serve(t, endpoint, responses)
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "list_files"}}
	reply, err := client.Complete(t.Context(), req)
	require.NoError(t, err)

	stored, err := json.Marshal(reply.Message) // as in a workflow history
	require.NoError(t, err)
	var message llm.Message
	require.NoError(t, json.Unmarshal(stored, &message))
	message.Role = llm.Assistant
	if edit != nil {
		edit(&message)
	}
	req.Messages = append(req.Messages, message)
	for _, call := range message.ToolCalls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "ok"})
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Go on."})
	_, err = client.Complete(t.Context(), req)
	require.NoError(t, err)
	return reply, endpoint.items[1 : len(endpoint.items)-1-len(message.ToolCalls)]
}

// The items of a reply go back in their order. Reasoning goes back byte for byte.
func TestResponsesItemsComeBackInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ items, back []string }{
		"reasoning, text":             {[]string{reasoned, concluded}, []string{reasoned, concludedBack}},
		"reasoning, call":             {[]string{reasoned, called}, []string{reasoned, calledBack}},
		"interleaved":                 {[]string{reasoned, said, reasoned2, called}, []string{reasoned, saidBack, reasoned2, calledBack}},
		"text after a call":           {[]string{called, concluded}, []string{calledBack, concludedBack}},
		"no phase":                    {[]string{called, strings.Replace(said, `"phase":"commentary",`, "", 1)}, []string{calledBack, strings.Replace(saidBack, `,"phase":"commentary"`, "", 1)}},
		"two texts":                   {[]string{said, concluded}, []string{saidBack, concludedBack}},
		"reasoning twice in a row":    {[]string{reasoned, reasoned2, called}, []string{reasoned, reasoned2, calledBack}},
		"reasoning at the end":        {[]string{reasoned, concluded, reasoned2}, []string{reasoned, concludedBack}},
		"an item of an unknown type":  {[]string{reasoned, `{"type":"web_search_call","id":"ws_1"}`, concluded}, []string{reasoned, concludedBack}},
		"reasoning as a reference":    {[]string{`{"id":"rs_3","type":"reasoning","summary":[],"encrypted_content":null}`, concluded}, []string{concludedBack}},
		"reasoning that can be read":  {[]string{`{"id":"rs_4","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, called}, []string{`{"id":"rs_4","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, calledBack}},
		"white space between members": {[]string{"{\n \"type\": \"reasoning\", \"encrypted_content\": \"a b\", \"summary\": [ ]\n}", called}, []string{`{"type":"reasoning","encrypted_content":"a b","summary":[]}`, calledBack}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, items := returned(t, output(test.items...), nil)
			require.Equal(t, test.back, items)

			var events []string
			for i, item := range test.items {
				events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, strings.ReplaceAll(item, "\n", "")))
			}
			// Some endpoints omit the items in the last event.
			_, items = returned(t, "data: "+strings.Join(append(events, `{"type":"response.completed","response":{"output":[]}}`), "\n\ndata: ")+"\n\n", nil)
			require.Equal(t, test.back, items)
		})
	}
}

// An endpoint needs no opaque data for what every client sends back.
func TestResponsesReplyWithoutReasoningHasNoOpaqueData(t *testing.T) {
	t.Parallel()
	reply, items := returned(t, output(strings.ReplaceAll(said, `"phase":"commentary",`, ""), called), nil)
	require.Empty(t, reply.Message.Opaque)
	require.Equal(t, []string{strings.ReplaceAll(saidBack, `,"phase":"commentary"`, ""), calledBack}, items)
}

// The text and the calls that are sent are those of the message, which may have been corrected.
func TestResponsesItemsAreThoseOfTheMessage(t *testing.T) {
	t.Parallel()
	const other = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Other."}],"phase":"commentary"}`
	for name, test := range map[string]struct {
		edit func(*llm.Message)
		back []string
	}{
		"another text":    {func(m *llm.Message) { m.Content = "Other." }, []string{reasoned, other, reasoned2, calledBack}},
		"no text":         {func(m *llm.Message) { m.Content = "" }, []string{reasoned, reasoned2, calledBack}},
		"no call":         {func(m *llm.Message) { m.ToolCalls = nil }, []string{reasoned, saidBack}},
		"other arguments": {func(m *llm.Message) { m.ToolCalls[0].Arguments = `{"x":1}` }, []string{reasoned, saidBack, reasoned2, strings.Replace(calledBack, `{}`, `{\"x\":1}`, 1)}},
		"another ID":      {func(m *llm.Message) { m.ToolCalls[0].ID = "z" }, []string{reasoned, saidBack, reasoned2, strings.Replace(calledBack, `call_1`, `z`, 1)}},
		"one call more": {func(m *llm.Message) {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: "z", Name: "list_files", Arguments: "{}"})
		}, []string{reasoned, saidBack, reasoned2, calledBack, strings.Replace(calledBack, `call_1`, `z`, 1)}},
		"nothing":           {func(m *llm.Message) { m.Content, m.ToolCalls = "", nil }, []string{reasoned, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}],"phase":"commentary"}`}},
		"another family":    {func(m *llm.Message) { m.Opaque.Family = "responses:example.com" }, []string{strings.ReplaceAll(saidBack, `,"phase":"commentary"`, ""), calledBack}},
		"no data":           {func(m *llm.Message) { m.Opaque.Data = `{"x` }, []string{strings.ReplaceAll(saidBack, `,"phase":"commentary"`, ""), calledBack}},
		"data without text": {func(m *llm.Message) { m.Opaque.Data = `[` + reasoned + `,{"type":"function_call"}]` }, []string{reasoned, strings.ReplaceAll(saidBack, `,"phase":"commentary"`, ""), calledBack}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, items := returned(t, output(reasoned, said, reasoned2, called), test.edit)
			require.Equal(t, test.back, items)
		})
	}
}

// The client corrects this reply: the model wrote its call as text.
func TestResponsesCallInTheTextIsSentAsACall(t *testing.T) {
	t.Parallel()
	spoken := strings.Replace(said, "Let me look.", `<tool_call>{\"name\":\"list_files\",\"arguments\":{}}</tool_call>`, 1)
	reply, items := returned(t, output(reasoned, spoken), nil)
	require.NotEmpty(t, reply.Repaired)
	require.Equal(t, []string{reasoned, strings.Replace(calledBack, "call_1", reply.Message.ToolCalls[0].ID, 1)}, items)
}

// An endpoint that hides a secret in its data gets no data back, because it would refuse changed data.
func TestResponsesOpaqueDataNeverHasTheKey(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Options{API: "responses", APIKey: leaked, HTTPClient: &http.Client{Transport: canned{"application/json",
		strings.NewReader(output(strings.Replace(reasoned, "gAAAAA", leaked, 1), concluded))}}})
	require.NoError(t, err)
	reply, err := client.Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Empty(t, reply.Message.Opaque)
}

// The stand-in refuses reasoning that it did not make, and reasoning without an item after it.
func TestResponsesReasoningIsAcceptedOverManyTurns(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Script(
		thinking(llmtest.Call(llmtest.ToolCall("1", "list_files", "{}")), "I look."),
		thinking(llmtest.Say("Two files."), "I count."),
		thinking(llmtest.Call(llmtest.ToolCall("1", "list_files", "{}")), "I look again."),
		llmtest.Say("Three files."),
	)}
	client := serve(t, endpoint, responses)
	req := ask()
	for range 4 {
		reply, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		req.Messages = append(req.Messages, reply.Message)
		for _, call := range reply.Message.ToolCalls {
			req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "a, b"})
		}
		if len(reply.Message.ToolCalls) == 0 {
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Sure?"})
		}
	}
	require.Len(t, endpoint.Requests(), 4)
	require.Equal(t, 3, strings.Count(string(endpoint.Requests()[3].Body), `"encrypted_content":`))
}

// thinking adds reasoning to a reply.
func thinking(reply llm.Reply, thought string) llm.Reply {
	reply.Message.Reasoning = thought
	return reply
}

// If the endpoint refuses reasoning, the client sends the request again without it: a run does not end because a key was changed.
func TestResponsesReasoningThatIsRefusedIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part, refusal string // the endpoint refuses bodies with this part
		status        int
		asked         []bool // whether each request has the part, when the client asks twice
	}{
		"of another account": {`"gAAAA"`, `{"error":{"message":"The encrypted content gAAA...A== could not be verified.","code":"invalid_encrypted_content"}}`, 400, []bool{true, false, true, false}},
		"not found":          {`"rs_1"`, "{\"error\":{\"message\":\"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.\"}}", 404, []bool{true, false, true, false}},
		"without its item":   {`"rs_1"`, `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item."}}`, 400, []bool{true, false, true, false}},
		"no reasoning model": {`"include"`, `{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`, 400, []bool{true, false, false}},
		"unknown include":    {`"include"`, `{"error":{"message":"Unknown parameter","param":"include"}}`, 400, []bool{true, false, false}},
		"within a stream":    {`"gAAAA"`, "event: error\ndata: {\"type\":\"error\",\"code\":\"invalid_encrypted_content\",\"message\":\"The encrypted content gAAA could not be verified.\"}\n\n", 200, []bool{true, false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				has := strings.Contains(string(body), test.part)
				mu.Lock()
				asked = append(asked, has)
				mu.Unlock()
				if has {
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.refusal)
					return
				}
				_, _ = io.WriteString(w, output(concluded))
			}))
			t.Cleanup(server.Close)
			client, err := openai.New(openai.Options{API: "responses", BaseURL: server.URL})
			require.NoError(t, err)
			message := llm.Message{Role: llm.Assistant, Content: "Sunny.", Opaque: llm.Opaque{
				Family: "responses:" + server.Listener.Addr().String() + "/test",
				Data:   `[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA","summary":[]},{"type":"message","length":6}]`,
			}}
			for range 2 {
				_, err := client.Complete(t.Context(), after(message, llm.Message{Role: llm.User, Content: "Sure?"}))
				require.NoError(t, err)
			}
			require.Equal(t, test.asked, asked)
		})
	}
}

// Another refusal is not mistaken for one of reasoning.
func TestResponsesRequestIsSentOnceIfItIsRefused(t *testing.T) {
	t.Parallel()
	for status, message := range map[int]string{400: "Invalid 'input[0].content'", 401: "encrypted content could not be verified", 429: "reasoning.encrypted_content", 500: "not included"} {
		asked := 0
		_, err := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(status)
			_, _ = io.WriteString(w, message)
		}), responses, noStream).Complete(t.Context(), ask())
		require.Error(t, err)
		require.Equal(t, 1, asked, message)
	}
}
