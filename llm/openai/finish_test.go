package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// A cut reply is not a reply, whatever text or calls it has, and wherever the finish reason stands.
func TestCutReplyIsNotAReply(t *testing.T) {
	t.Parallel()
	const text = `"content":"The steps are: fir"`
	const call = `"content":"","tool_calls":[{"index":0,"id":"a","function":{"name":"list_files","arguments":"{}"}}]`
	for reason, want := range map[string]llm.Class{
		"content_filter": llm.Filtered, "sensitive": llm.Filtered, "SAFETY": llm.Filtered, "refusal": llm.Filtered,
		"content_filter: PROHIBITED_CONTENT": llm.Filtered,
		"MALFORMED_FUNCTION_CALL":            llm.BadReply, "function_call_filter: UNEXPECTED_TOOL_CALL": llm.BadReply,
		"network_error": llm.ServerError, "error": llm.ServerError, "insufficient_system_resource": llm.Overloaded,
		"model_context_window_exceeded": llm.ContextTooLong,
		"stop":                          "", "length": "", "tool_calls": "", "eos": "", "STOP": "", "end_turn": "", "safety_checked": "",
	} {
		for _, said := range []string{text, call} {
			for _, place := range []string{`"finish_reason":%q`, `"finish_reason":"stop","native_finish_reason":%q`} {
				finish := fmt.Sprintf(place, reason)
				whole := `{"choices":[{"index":0,"message":{` + said + `},` + finish + `}]}`
				streamed := `data: {"choices":[{"index":0,"delta":{` + said + `},"finish_reason":"stop"}]}` + "\n\n" +
					`data: {"choices":[{"index":0,"delta":{},` + finish + `}]}` + "\n\ndata: [DONE]\n\n"
				for kind, body := range map[string]string{"application/json": whole, "text/event-stream": streamed} {
					_, _, err := answer(t, kind, strings.NewReader(body))
					if want == "" {
						require.NoError(t, err, body)
						continue
					}
					var told *llm.Error
					require.ErrorAs(t, err, &told, body)
					require.Equal(t, want, told.Class, body)
					require.Equal(t, reason, told.FinishReason)
					require.ErrorContains(t, err, "finish reason "+reason)
				}
			}
		}
	}
}

// A stream without a finish reason is complete only if the endpoint ended it with [DONE] and no call can be cut off.
func TestStreamWithoutFinishReasonNeedsItsEndMark(t *testing.T) {
	t.Parallel()
	const text = `data: {"choices":[{"delta":{"content":"Sunny."},"finish_reason":null}]}` + "\n\n"
	call := func(arguments string) string {
		return fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list_files","arguments":%q}}]}}]}`+"\n\n", arguments)
	}
	const done = "data: [DONE]\n\n"
	for body, whole := range map[string]bool{
		text + done:                         true,
		call(`{"path":"a"}`) + done:         true,
		text + call(`{"a":1}`) + done:       true,
		text:                                false,
		call(`{"path":"a"}`):                false,
		call(`{"path":"a`) + done:           false,
		call("") + done:                     false,
		text + "event: end\n\n":             false,
		"data: {\"choices\":[]}\n\n" + done: false,
	} {
		reply, _, err := answer(t, "text/event-stream", strings.NewReader(body))
		require.Equal(t, whole, err == nil, "%v: %s", err, body)
		require.Empty(t, reply.FinishReason)
	}
}

// A stream in the form of another API fails at its first event, and says which API it is.
func TestStreamOfAnotherAPIFails(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n":        "Messages API",
		"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n": "Responses API",
	} {
		_, _, err := answer(t, "text/event-stream", strings.NewReader(body))
		require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "base_url")
	}
}

// A thought that reached the output limit is not an answer. An unclosed tag in a complete answer is text.
func TestThoughtAtTheOutputLimitIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	for reason, thought := range map[string]bool{"length": true, "max_tokens": true, "stop": false} {
		reply, _, err := answer(t, "application/json", strings.NewReader(
			`{"choices":[{"message":{"content":"<think>\nI should"},"finish_reason":"`+reason+`"}]}`))
		if thought {
			require.ErrorIs(t, err, llm.ErrEmptyReply)
		} else {
			require.NoError(t, err)
			require.Equal(t, "<think>\nI should", reply.Message.Content)
		}
	}
}
