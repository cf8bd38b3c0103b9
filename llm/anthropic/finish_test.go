package anthropic_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// streamOf returns a stream with the given content blocks. Each block is in its first event.
func streamOf(reason string, blocks ...string) string {
	var s strings.Builder
	s.WriteString(`event: message_start` + "\n" + `data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}` + "\n\n")
	for i, b := range blocks {
		fmt.Fprintf(&s, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, b)
		fmt.Fprintf(&s, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
	}
	fmt.Fprintf(&s, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{\"output_tokens\":2}}\n\n", reason)
	s.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return s.String()
}

// bothWays calls a function with a reply of the given content that is streamed, and with one that is not.
func bothWays(t *testing.T, reason string, blocks []string, check func(t *testing.T, reply llm.Reply, err error)) {
	t.Helper()
	for kind, body := range map[string]string{"text/event-stream": streamOf(reason, blocks...), "application/json": replyBody(reason, blocks...)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, body)
			}))
			req := ask()
			req.Tools = []llm.ToolSpec{{Name: "f"}}
			reply, err := client.Complete(t.Context(), req)
			check(t, reply, err)
		})
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	const text, call = `{"type":"text","text":"Hi"}`, `{"type":"tool_use","id":"1","name":"f","input":{"a":1}}`
	for _, test := range []struct {
		reason string
		blocks []string
		want   llm.Class // "" means a reply
	}{
		{"end_turn", []string{text}, ""},
		{"stop_sequence", []string{text}, ""},
		{"tool_use", []string{text, call}, ""},
		{"max_tokens", []string{text}, ""},
		{"a_new_reason", []string{text}, ""},
		{"refusal", []string{text}, llm.Filtered},
		{"refusal", nil, llm.Filtered},
		{"model_context_window_exceeded", []string{text}, llm.ContextTooLong},
		{"pause_turn", []string{text}, llm.InvalidRequest},
		{"end_turn", nil, llm.EmptyReply},
		{"end_turn", []string{`{"type":"text","text":" "}`, thought1}, llm.EmptyReply},
	} {
		t.Run(test.reason, func(t *testing.T) {
			bothWays(t, test.reason, test.blocks, func(t *testing.T, reply llm.Reply, err error) {
				usage := llm.Usage{InputTokens: 1, OutputTokens: 2}
				if test.want == "" {
					require.NoError(t, err)
					require.Equal(t, test.reason, reply.FinishReason)
					require.Equal(t, usage, reply.Usage)
					return
				}
				var told *llm.Error
				require.ErrorAs(t, err, &told)
				require.Equal(t, test.want, told.Class)
				require.Equal(t, test.reason, told.FinishReason)
				require.Equal(t, usage, told.Usage)
				require.Equal(t, "m", told.Model)
			})
		})
	}
}

// The error has the provider's explanation of a refusal.
func TestARefusalIsExplained(t *testing.T) {
	t.Parallel()
	p := answering(`{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It is about malware."}}`)
	_, err := serve(t, p).Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.Filtered})
	require.ErrorContains(t, err, "It is about malware.")
}

// A call that was cut off is not run: package repair leaves arguments that are no JSON object.
func TestACallThatWasCutOffIsNotCompleted(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"", `{"path":"a`} {
		stream := strings.Replace(streamOf("max_tokens", `{"type":"tool_use","id":"1","name":"f","input":{}}`), "event: content_block_stop",
			fmt.Sprintf("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\nevent: content_block_stop", input), 1)
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, stream)
		}))
		req := ask()
		req.Tools = []llm.ToolSpec{{Name: "f"}}
		reply, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		require.False(t, llm.IsObject(reply.Message.ToolCalls[0].Arguments))
	}
}

// The mistakes of models are corrected, as with other providers.
func TestRepliesAreRepaired(t *testing.T) {
	t.Parallel()
	bothWays(t, "tool_use", []string{`{"type":"tool_use","id":"","name":"F","input":{"a":1,"a":2}}`}, func(t *testing.T, reply llm.Reply, err error) {
		require.NoError(t, err)
		require.Equal(t, []llm.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"a":2}`}}, reply.Message.ToolCalls)
		require.NotEmpty(t, reply.Repaired)
	})
}

// Anthropic does not count tokens of the cache as input tokens.
func TestUsageIsTheSum(t *testing.T) {
	t.Parallel()
	p := answering(`{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,` +
		`"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}`)
	reply, err := serve(t, p).Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, llm.Usage{InputTokens: 123, CachedTokens: 100, CacheWriteTokens: 20, OutputTokens: 9, ReasoningTokens: 4}, reply.Usage)
}

func TestRepliesOfOtherAPIsNameTheWrongURL(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"object":"chat.completion","choices":[{"message":{"content":"Hi"}}]}`,
		`data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"Hi"}}]}` + "\n\n",
		`{"object":"response","output":[]}`,
	} {
		p := answering(body)
		_, err := serve(t, p).Complete(t.Context(), ask())
		require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound}, body)
		require.ErrorContains(t, err, "not with a message of Anthropic's Messages API")
	}
	client := serve(t, llmtest.Handler(hi()))
	_, err := client.Complete(t.Context(), ask())
	require.NoError(t, err)
}
