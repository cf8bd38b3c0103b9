package anthropic_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// streaming returns the reply, the deltas and the error of a client that gets a stream with the given text.
func streaming(t *testing.T, kind, text string) (llm.Reply, []llm.Delta, error) {
	t.Helper()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}))
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "f"}}
	var deltas []llm.Delta
	reply, err := client.Complete(llm.WithStream(t.Context(), func(d llm.Delta) { deltas = append(deltas, d) }), req)
	return reply, deltas, err
}

// Parts of a stream.
const (
	starts  = `data: {"type":"message_start","message":{"model":"m"}}` + "\n\n"
	hello   = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` + "\n\n"
	ends    = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n"
	stops   = `data: {"type":"message_stop"}` + "\n\n"
	pings   = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	isEvent = "text/event-stream; charset=utf-8"
)

func TestAStreamMustEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want llm.Class // "" means a reply
	}{
		"whole":                         {starts + pings + hello + ends + stops, ""},
		"without message_stop":          {starts + hello + ends, ""},
		"without a stop reason":         {starts + hello + stops, ""},
		"an error after the end":        {starts + hello + ends + `data: {"type":"error","error":{"type":"api_error","message":"no"}}` + "\n\n", ""},
		"garbage after the end":         {starts + hello + ends + "data: {x}\n\n", ""},
		"cut":                           {starts + hello, llm.Connection},
		"cut in an event":               {starts + hello + ends[:30], llm.Connection},
		"cut by [DONE]":                 {starts + hello + "data: [DONE]\n\n", llm.Connection},
		"only the beginning":            {starts, llm.Connection},
		"nothing":                       {"\n", llm.Connection},
		"no stop reason yet":            {starts + hello + `data: {"type":"message_delta","delta":{"stop_reason":null}}` + "\n\n", llm.Connection},
		"an error":                      {starts + hello + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", llm.Overloaded},
		"an error at once":              {"event: error\ndata: {\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"invalid_request_error\",\"message\":\"Output blocked by content filtering policy\"}}\n\n", llm.Filtered},
		"an error without a name":       {starts + `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}` + "\n\n", llm.RateLimited},
		"an error in another form":      {starts + "event: error\ndata: {\"message\":\"upstream failed\",\"code\":502}\n\n", llm.ServerError},
		"an object that is no JSON":     {starts + "data: {x}\n\n", llm.BadReply},
		"a text between the events":     {starts + "data: ping\n\n" + hello + ends, ""},
		"a text, and then cut":          {starts + "data: upstream\n\n", llm.BadReply},
		"no text":                       {starts + ends + stops, llm.EmptyReply},
		"unknown events":                {starts + `data: {"type":"content_block_sparkle","index":{}}` + "\n\n" + hello + ends, ""},
		"deltas of unknown blocks":      {starts + strings.ReplaceAll(hello, `"index":0,"delta"`, `"index":7,"delta"`) + hello + ends, ""},
		"unknown deltas":                {starts + hello + `data: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}` + "\n\n" + ends, ""},
		"an event with a name alone":    {starts + hello + ends + "event: message_stop\ndata: {}\n\n", ""},
		"fields of other types":         {strings.ReplaceAll(starts, `"m"`, `7`) + strings.ReplaceAll(hello, `0`, `"0"`) + ends, ""},
		"a usage that cannot be read":   {starts + hello + `data: {"type":"message_delta","usage":"none","delta":{"stop_reason":"end_turn"}}` + "\n\n", ""},
		"data after the stop is unread": {starts + hello + ends + stops + strings.Repeat("x", 1<<16), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, _, err := streaming(t, isEvent, test.text)
			if test.want == "" {
				require.NoError(t, err)
				require.Equal(t, "Hello", reply.Message.Content)
				return
			}
			var told *llm.Error
			require.ErrorAs(t, err, &told)
			require.Equal(t, test.want, told.Class, "%v", err)
		})
	}
}

// Endpoints send complete replies and errors with the Content-Type of a stream, and streams with other types.
func TestTheFirstBytesSayWhetherItIsAStream(t *testing.T) {
	t.Parallel()
	reply, deltas, err := streaming(t, isEvent, replyBody("end_turn", `{"type":"text","text":"Hello"}`))
	require.NoError(t, err)
	require.Equal(t, "Hello", reply.Message.Content)
	require.Empty(t, deltas)

	for _, kind := range []string{"application/json", "text/plain", ""} {
		reply, _, err = streaming(t, kind, "event: message_start\n"+starts+hello+ends)
		require.NoError(t, err, kind)
		require.Equal(t, "Hello", reply.Message.Content)
	}

	_, _, err = streaming(t, isEvent, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	require.ErrorIs(t, err, &llm.Error{Class: llm.Overloaded})
	_, _, err = streaming(t, isEvent, "<html><title>Sign in</title></html>")
	require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
}

// The input of a call may come in parts, as a whole in the first event, or not at all.
func TestTheInputOfACallIsJoined(t *testing.T) {
	t.Parallel()
	begin := func(input string) string {
		return `data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":` + input + "}}\n\n"
	}
	part := func(text string) string {
		return fmt.Sprintf("data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n", text)
	}
	const end = `data: {"type":"content_block_stop","index":3}` + "\n\n"
	for text, want := range map[string]string{
		begin("{}") + part("") + part(`{"a": `) + part(`1.0}`) + end: `{"a": 1.0}`,
		begin("{}") + part("") + end:                                 `{}`,
		begin("{}") + end:                                            `{}`,
		begin(`{"a":1}`) + end:                                       `{"a":1}`,
		begin(`"{\"a\":1}"`) + end:                                   `{"a":1}`,
		begin(`null`) + part(`{"a":1}`) + end:                        `{"a":1}`,
	} {
		reply, deltas, err := streaming(t, isEvent, starts+hello+text+strings.ReplaceAll(ends, "end_turn", "tool_use"))
		require.NoError(t, err)
		require.Equal(t, []llm.ToolCall{{ID: "toolu_1", Name: "f", Arguments: want}}, reply.Message.ToolCalls)
		var joined string
		for _, d := range deltas {
			if d.ToolCall != nil {
				require.Zero(t, d.ToolCall.Index)
				joined += d.ToolCall.Name + d.ToolCall.Arguments
			}
		}
		require.Equal(t, "f"+want, joined)
	}
}

// Several blocks of thinking are separated, in the reply as in the deltas.
func TestThoughtsAreSeparated(t *testing.T) {
	t.Parallel()
	reply, deltas, err := streaming(t, isEvent, streamOf("end_turn", thought1, redacted, thought1, `{"type":"text","text":"Hi"}`))
	require.NoError(t, err)
	var joined string
	for _, d := range deltas {
		joined += d.Reasoning
	}
	require.Equal(t, "First <think>…\n\nFirst <think>…", reply.Message.Reasoning)
	require.Equal(t, reply.Message.Reasoning, joined)
}

func TestCompressedRepliesAreRead(t *testing.T) {
	t.Parallel()
	for _, body := range []string{starts + hello + ends + stops, replyBody("end_turn", `{"type":"text","text":"Hello"}`)} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = io.WriteString(w, body)
		require.NoError(t, w.Close())
		reply, _, err := streaming(t, "application/octet-stream", packed.String())
		require.NoError(t, err)
		require.Equal(t, "Hello", reply.Message.Content)
	}
}
