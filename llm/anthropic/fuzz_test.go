package anthropic_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
)

// canned is an [http.RoundTripper] that returns a response with a fixed body.
type canned struct {
	kind string
	body io.Reader
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(c.body)}, nil
}

// answer returns the reply, the deltas and the error of a client that gets a response with the given Content-Type (kind) and body.
func answer(t *testing.T, kind string, body io.Reader) (llm.Reply, []llm.Delta, error) {
	client, err := anthropic.New(anthropic.Options{HTTPClient: &http.Client{Transport: canned{kind, body}}})
	require.NoError(t, err)
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "f"}}
	var pieces []llm.Delta
	reply, err := client.Complete(llm.WithStream(t.Context(), func(d llm.Delta) { pieces = append(pieces, d) }), req)
	return reply, pieces, err
}

// valid checks that the reply or the error of a client is valid, and that the reply can be sent back.
func valid(t *testing.T, reply llm.Reply, err error) {
	if err != nil {
		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.NotEmpty(t, told.Class)
		require.True(t, utf8.ValidString(err.Error()))
		require.Less(t, len(err.Error()), 1000)
		return
	}
	require.NoError(t, reply.Validate())
	require.Equal(t, llm.Assistant, reply.Message.Role)
	encoded, err := json.Marshal(reply)
	require.NoError(t, err)
	var back llm.Reply
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.Equal(t, reply, back, "a reply is the same after a way through history")
	if reply.Message.Opaque != (llm.Opaque{}) {
		require.True(t, json.Valid([]byte(reply.Message.Opaque.Data)))
	}

	messages := []llm.Message{user("a"), reply.Message}
	for i := range reply.Message.ToolCalls {
		call := &reply.Message.ToolCalls[i]
		if !llm.IsObject(call.Arguments) {
			call.Arguments = "{}" // the agent does not send such arguments
		}
		messages = append(messages, result(call.ID, "x"))
	}
	var sent []byte
	client, err := anthropic.New(anthropic.Options{HTTPClient: &http.Client{Transport: sink{&sent}}})
	require.NoError(t, err)
	_, err = client.Complete(t.Context(), ask(messages...))
	require.NoError(t, err)
	require.True(t, json.Valid(sent))
}

// sink is an [http.RoundTripper] that stores the body of a request and returns a reply.
type sink struct{ body *[]byte }

func (s sink) RoundTrip(r *http.Request) (*http.Response, error) {
	*s.body, _ = io.ReadAll(r.Body)
	return canned{"text/event-stream", bytes.NewReader([]byte(starts + hello + ends))}.RoundTrip(r)
}

// FuzzStream reads any bytes as a stream. The result must be a valid reply or error. It must be the same if the bytes come one by
// one.
func FuzzStream(f *testing.F) {
	use := `{"type":"tool_use","id":"1","name":"f","input":{}}`
	for _, seed := range []string{
		starts + pings + hello + ends + stops, streamOf("tool_use", thought1, redacted, `{"type":"text","text":"Hi"}`, thought2, use, use),
		starts + `data: {"type":"content_block_start","index":0,"content_block":` + use + "}\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" + ends,
		starts + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}` + "\n\n" + hello + ends,
		starts + `data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","input":{}}}` + "\r\n\r\n" + hello + ends,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		"event: error\ndata: {\ndata: }\n\n", ends, stops, "data: null\n\ndata: []\n\n" + hello + stops,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, pieces, err := answer(t, "text/event-stream", bytes.NewReader(body))
		slow, slowPieces, slowErr := answer(t, "text/event-stream", iotest.OneByteReader(bytes.NewReader(body)))
		require.Equal(t, reply, slow)
		require.Equal(t, pieces, slowPieces)
		require.Equal(t, err == nil, slowErr == nil, "%v, %v", err, slowErr)
		valid(t, reply, err)
	})
}

// FuzzReply reads any bytes as a whole reply.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		replyBody("end_turn", `{"type":"text","text":"Hi"}`),
		replyBody("tool_use", thought1, redacted, `{"type":"text","text":"Hi"}`, thought2, `{"type":"tool_use","id":"1","name":"f","input":{"a":1}}`),
		`{"type":"message","content":[1,null,{"type":7},{"type":"new","x":[]}],"stop_reason":null,"usage":[]}`,
		`{"type":"error","error":{"type":"api_error","message":"no"}}`, `{}`, `[]`, `null`,
		"{\"content\":[{\"type\":\"0\",\"\xde\":[0]},{\"type\":\"tool_use\"}]}", // not valid UTF-8
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, _, err := answer(t, "application/json", bytes.NewReader(body))
		valid(t, reply, err)
	})
}
