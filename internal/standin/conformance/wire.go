package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// tokensAreBounded checks that a reply has at most [llm.MaxReplyTokens] tokens of each kind, whatever the endpoint reports.
func tokensAreBounded(t *testing.T, api standin.API, newClient connector) {
	said, empty := llmtest.Say("A lot."), llm.Reply{FinishReason: "stop"}
	said.Usage = llm.Usage{InputTokens: 934_580_000_000, OutputTokens: 934_580_000_000, CachedTokens: 1 << 60, ReasoningTokens: 934_580_000_000}
	empty.Usage = said.Usage
	for name, given := range map[string]llm.Reply{"a reply": said, "an empty reply": empty} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := newClient(t, &standin.Endpoint{Client: llmtest.Script(given)}).Complete(t.Context(), question())
			got := reply.Usage
			if told, ok := errors.AsType[*llm.Error](err); ok {
				got = told.Usage
			}
			require.Equal(t, api.Received(given).Usage.Bounded(), got)
		})
	}
}

// keyIsAHeader checks that a client sends the key of a request as the Idempotency-Key header. If the request has no key, the
// client must not send this header.
func keyIsAHeader(t *testing.T, newClient connector) {
	endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."))}
	client := newClient(t, endpoint)
	keyed, plain := question(), question()
	keyed.Key = "model-0123456789abcdef"

	for _, req := range []llm.Request{keyed, plain} {
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
	}

	got := endpoint.Requests()
	require.Len(t, got, 2)
	require.Equal(t, []string{keyed.Key}, got[0].Header["Idempotency-Key"])
	require.NotContains(t, got[1].Header, "Idempotency-Key")
}

// emptyFieldsAreThere checks that a client sends empty contents and empty arguments, too. Endpoints refuse a tool message
// without the field `content`, and a call without the field `arguments`. Some client libraries omit empty fields.
func emptyFieldsAreThere(t *testing.T, newClient connector) {
	endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("unused"), llmtest.Say("Hi.")), Lenient: true}
	client := newClient(t, endpoint)

	_, err := client.Complete(t.Context(), question(
		llm.Message{Role: llm.User, Content: ""},
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llmtest.ToolCall("1", "list_files", "")}},
		llm.Message{Role: llm.Tool, ToolCallID: "1", Content: ""},
	))
	require.NoError(t, err)

	var body struct {
		Messages []struct {
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				Function map[string]json.RawMessage `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(endpoint.Requests()[0].Body, &body))
	require.Len(t, body.Messages, 3)
	require.Equal(t, `""`, string(body.Messages[0].Content))
	require.Equal(t, `""`, string(body.Messages[1].ToolCalls[0].Function["arguments"]))
	require.Equal(t, `""`, string(body.Messages[2].Content))
}

func reasoningIsNotSent(t *testing.T, newClient connector) {
	endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("unused"), llmtest.Say("unused"), llmtest.Say("Hi."))}
	client := newClient(t, endpoint)

	_, err := client.Complete(t.Context(), question(
		llm.Message{Role: llm.User, Content: "2+2?"},
		llm.Message{Role: llm.Assistant, Content: "4", Reasoning: "private thoughts"},
		llm.Message{Role: llm.User, Content: "Sure?"},
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llmtest.ToolCall("1", "list_files", "{}")}, Reasoning: "private thoughts"},
		llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "4"},
	))
	require.NoError(t, err)
	require.NotContains(t, string(endpoint.Requests()[0].Body), "private thoughts")
}

// noCompletion checks that a client returns an error if a response has status 200 but is not a reply, for example a web page.
func noCompletion(t *testing.T, newClient connector) {
	tests := []struct {
		name, kind, body string
		says             string
	}{
		{"web page", "text/html; charset=utf-8", "<!DOCTYPE html><html><head><title>Sign in</title></head></html>", "HTML"},
		{"web page that says it is JSON", "application/json", "\n<html></html>", "HTML"},
		{"plain text", "text/plain", "upstream unavailable", "upstream unavailable"},
		{"half a body", "application/json", `{"id":"x","choices":[{"index":0,"mess`, ""},
		{"nothing", "application/json", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				_, _ = io.WriteString(w, test.body)
			}))

			_, err := client.Complete(t.Context(), question())

			var told *llm.Error
			require.ErrorAs(t, err, &told)
			want := llm.BadReply
			if test.says == "HTML" { // the URL is wrong, so a retry does not help
				want = llm.NotFound
			}
			require.Equal(t, want, told.Class, "%v", err)
			require.Contains(t, told.Message, test.says)
		})
	}
}

// cutConnection checks that a client does not send a request again when the connection is cut. Only the caller of the client may
// retry. The test cuts the connection during the second request, because some HTTP clients retry by themselves if the connection
// has already carried an earlier request.
func cutConnection(t *testing.T, newClient connector) {
	for _, test := range []struct {
		name string
		cut  func(http.ResponseWriter)
	}{
		{"before the answer", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
		{"within the answer", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[`+strings.Repeat(" ", 100))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			healthy := llmtest.Handler(llmtest.Script(llmtest.Say("Hi.")))
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > 1 {
					_, _ = io.Copy(io.Discard, r.Body)
					test.cut(w)
				}
				healthy.ServeHTTP(w, r)
			}))
			req := question()
			req.Key = "model-0123456789abcdef"

			_, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
			_, err = client.Complete(t.Context(), req)

			var told *llm.Error
			require.ErrorAs(t, err, &told)
			require.Equal(t, llm.Connection, told.Class, "%v", err)
			require.EqualValues(t, 2, asked.Load(), "a client does not retry")
		})
	}
}

// deepRequest checks that a client sends the whole request or none if a value in it is nested almost as deeply as package encoding/json
// allows: 10,000 levels. The body of the request has a few levels more.
func deepRequest(t *testing.T, newClient connector) {
	const most = 10_000
	for depth := most - 10; depth <= most; depth++ {
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."), llmtest.Say("Hi.")), Lenient: true}
		client := newClient(t, endpoint)
		schema, call := question(), question(
			llm.Message{Role: llm.User, Content: "How is the weather?"},
			llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llmtest.ToolCall("1", "look", deep)}},
			llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "Nice."},
		)
		schema.Tools = []llm.ToolSpec{{Name: "look", Parameters: json.RawMessage(deep)}}
		for _, req := range []llm.Request{schema, call} {
			req.Params.Extra = map[string]json.RawMessage{"extra_setting": json.RawMessage("1")}
			before := len(endpoint.Requests())
			_, err := client.Complete(t.Context(), req)
			if err != nil {
				require.Len(t, endpoint.Requests(), before, "what was refused was not sent")
				continue
			}
			require.Contains(t, string(endpoint.Requests()[before].Body), "How is the weather?")
		}
	}
}
