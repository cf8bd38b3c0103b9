package openai_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

// FuzzResponsesStream reads any bytes as a stream of the Responses API. The result must be a valid reply or error. It must be the same if
// the bytes come one by one. The stand-in must accept a request with the message of the reply.
func FuzzResponsesStream(f *testing.F) {
	for _, events := range [][]string{
		{sunnyAdded, sunnyDelta, sunnyDone, sunnyCompleted},
		{sunnyDelta, "[DONE]"},
		{`{"type":"response.completed","response":` + output(reasoned, said, reasoned2, called) + `}`},
		{`{"type":"response.output_item.done","output_index":1,"item":` + called + `}`, `{"type":"response.output_item.done","output_index":0,"item":` + reasoned + `}`, emptyCompleted},
		{`{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"a"}`, `{"type":"response.refusal.delta","delta":"b"}`, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`},
		{`{"type":"response.function_call_arguments.delta","item_id":"x","delta":"{"}`, `{"type":"response.function_call_arguments.done","item_id":"x","arguments":"{}"}`, emptyCompleted},
		{`{"type":"error","code":"server_error","message":"no"}`}, {`{"type":"response.failed","response":{"status":"failed"}}`},
		{output(reasoned, concluded)}, {"ping"}, {`{"choices":[]}`},
	} {
		f.Add([]byte("data: " + strings.Join(events, "\n\ndata: ") + "\n\n"))
		f.Add([]byte("event: response.output_text.delta\r\ndata: " + strings.Join(events, "\r\rdata: ")))
	}
	seedQuirks(f, true)
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, pieces, err := replied(t, "text/event-stream", bytes.NewReader(body))
		valid(t, reply, err)

		slow, slowPieces, slowErr := replied(t, "text/event-stream", iotest.OneByteReader(bytes.NewReader(body)))
		require.Equal(t, reply, slow)
		require.Equal(t, pieces, slowPieces)
		require.Equal(t, err == nil, slowErr == nil, "%v, %v", err, slowErr)
		if err == nil {
			returnable(t, reply)
		}
	})
}

// FuzzResponsesReply reads any bytes as a whole response.
func FuzzResponsesReply(f *testing.F) {
	f.Add([]byte(output(reasoned, said, reasoned2, called)))
	f.Add([]byte(output(reasoned, concluded, said)))
	f.Add([]byte(`{"output":[null,{"type":"message","content":"x"}],"usage":[]}`))
	seedQuirks(f, false)
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, _, err := replied(t, "application/json", bytes.NewReader(body))
		valid(t, reply, err)
		if err == nil {
			returnable(t, reply)
		}
	})
}

// returnable checks that the message of a reply can be sent back: the request is valid JSON, and each item of reasoning has an item of the
// assistant after it.
func returnable(t *testing.T, reply llm.Reply) {
	endpoint := &recorder{t: t, body: output(sunnyItem)}
	client, err := openai.New(openai.Options{API: "responses", HTTPClient: handled(endpoint)})
	require.NoError(t, err)
	message := reply.Message
	require.True(t, message.Opaque.Data == "" || json.Valid([]byte(message.Opaque.Data)))
	for i := range message.ToolCalls {
		message.ToolCalls[i].Arguments = "{}" // as the agent does with arguments that are not an object
	}
	req := after(message)
	for _, call := range message.ToolCalls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "ok"})
	}
	_, err = client.Complete(t.Context(), req)
	require.NoError(t, err)
	kinds := make([]string, 0, len(endpoint.items))
	for _, item := range endpoint.items {
		var is struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(item), &is))
		kinds = append(kinds, is.Type)
	}
	require.NotContains(t, strings.Join(append(kinds, "end"), " "), "reasoning function_call_output")
	require.NotContains(t, strings.Join(append(kinds, "end"), " "), "reasoning end")
	require.GreaterOrEqual(t, strings.Count(strings.Join(kinds, " "), "function_call"), 2*len(message.ToolCalls))
}
