package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// long returns a reply with text, reasoning, several tool calls and usage.
func long() llm.Reply {
	reply := llmtest.Call(
		llmtest.ToolCall("call_a", "write_file", `{"path":"ü.txt","content":"`+strings.Repeat("日本語 <b> \\n", 20)+`"}`),
		llmtest.ToolCall("call_b", "list_files", `{}`),
		llmtest.ToolCall("call_c", "write_file", `{"path":"b.txt","content":"9007199254740993"}`),
	)
	reply.Message.Content = "Let me write Zürich 🏔️ down."
	reply.Message.Reasoning = "The user wants a file."
	reply.Usage = llm.Usage{InputTokens: 7, OutputTokens: 3}
	return reply
}

// piecesMakeTheReply checks the deltas (parts) of a streamed reply. Joined, they must have the content, the reasoning and the
// tool calls of the reply. A client that streams must pass every delta to the function of [llm.WithStream], in order. It must
// not call the function after [llm.Client.Complete] has returned. A client that does not stream must never call the function.
func piecesMakeTheReply(t *testing.T, api standin.API, newClient connector) {
	for seed := range uint64(5) {
		endpoint := &standin.Endpoint{Client: llmtest.Script(long()), Seed: seed}
		client := newClient(t, endpoint)
		var got llm.Message
		returned := false
		ctx := llm.WithStream(t.Context(), func(d llm.Delta) {
			require.False(t, returned)
			got.Content += d.Text
			got.Reasoning += d.Reasoning
			if d.ToolCall == nil {
				return
			}
			for len(got.ToolCalls) <= d.ToolCall.Index {
				got.ToolCalls = append(got.ToolCalls, llm.ToolCall{})
			}
			call := &got.ToolCalls[d.ToolCall.Index]
			call.Name += d.ToolCall.Name
			call.Arguments += d.ToolCall.Arguments
		})

		reply, err := client.Complete(ctx, question())
		returned = true

		require.NoError(t, err)
		want := api.Received(long())
		require.Equal(t, plain(want.Message), plain(reply.Message))
		if !endpoint.Requests()[0].Stream {
			require.Empty(t, got)
			continue
		}
		require.Equal(t, want.Usage, reply.Usage)
		require.Equal(t, reply.Message.Content, got.Content)
		require.Equal(t, reply.Message.Reasoning, got.Reasoning)
		require.Len(t, got.ToolCalls, 3)
		for _, call := range reply.Message.ToolCalls {
			call.ID = "" // deltas have no ID, and their indexes are in the order in which the calls began
			require.Contains(t, got.ToolCalls, call)
		}
	}
}

// cutStream checks that a client notices a cut in a stream. The test cuts the stream of a reply at many places before the
// finish reason. For each place, the client must return an error of class [llm.Connection].
func cutStream(t *testing.T, api standin.API, newClient connector) {
	body, safe := standin.Stream(api, long())
	for _, abort := range []bool{false, true} {
		t.Run(fmt.Sprintf("abort=%v", abort), func(t *testing.T) {
			t.Parallel()
			var cut atomic.Int64
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", standin.ContentType(api))
				_, _ = w.Write(body[:cut.Load()])
				_ = http.NewResponseController(w).Flush()
				if abort {
					panic(http.ErrAbortHandler)
				}
			}))
			for at := 1; at < safe; at += 97 {
				cut.Store(int64(at))
				_, err := client.Complete(t.Context(), question())

				var told *llm.Error
				require.ErrorAs(t, err, &told, "cut at %d", at)
				require.Equal(t, llm.Connection, told.Class, "cut at %d: %v", at, err)
			}
		})
	}
}

// faultsPass checks that a caller who retries gets every reply in spite of [standin.Faults]. For each faulty response, the client
// must return a retryable error. For a correct response, it must return the reply's message unchanged.
func faultsPass(t *testing.T, api standin.API, newClient connector) {
	endpoint := &standin.Endpoint{Client: llmtest.Script(long()), Seed: 1, Faults: &standin.Faults{Seed: 1, Share: 0.7}}
	client := newClient(t, endpoint)
	for i := range 60 {
		req := question()
		req.Key = fmt.Sprint("model-", i)
		for attempt := 0; ; attempt++ {
			reply, err := client.Complete(t.Context(), req)
			if err == nil {
				require.Equal(t, plain(api.Received(long()).Message), plain(reply.Message))
				break
			}
			var told *llm.Error
			require.True(t, errors.As(err, &told) && told.Class.Retryable(), "%v", err)
			require.Less(t, attempt, standin.MaxFaultsInARow, "%v", err)
		}
	}
	require.Len(t, endpoint.Faults.Counts(), standin.FaultKinds, "every kind of fault happened")
}
