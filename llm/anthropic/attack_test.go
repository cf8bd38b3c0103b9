package anthropic_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const leaked = "sk-ant-api03-8Qw/eR+tY7uI0pAsDfGhJkL"

// forms are forms in which a malicious or careless endpoint may send the API key back.
var forms = map[string]string{
	"itself":       leaked,
	"base64":       base64.StdEncoding.EncodeToString([]byte(leaked)),
	"URL":          url.QueryEscape(leaked),
	"JSON":         strings.ReplaceAll(leaked, "/", `\/`),
	"hex":          hex.EncodeToString([]byte(leaked)),
	"all but four": leaked[:len(leaked)-4],
	"in two parts": leaked[:15] + " " + leaked[15:],
}

func attacked(t *testing.T, h http.HandlerFunc) (llm.Reply, error) {
	t.Helper()
	client := serve(t, h, func(o *anthropic.Options) { o.APIKey = leaked })
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "f"}}
	return client.Complete(t.Context(), req)
}

func TestAttackEndpointThatSaysTheKeyBackInAReply(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal("<" + form + ">")
			require.NoError(t, err)
			q := string(quoted)
			reply, err := attacked(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"type":"message","model":`+q+`,"stop_reason":`+q+`,"content":[{"type":"thinking","thinking":`+q+`,"signature":`+q+`},
					{"type":"text","text":`+q+`},{"type":"tool_use","id":`+q+`,"name":"f","input":{"a":`+q+`}}]}`)
			})
			require.NoError(t, err)
			call := reply.Message.ToolCalls[0]
			for _, field := range []string{reply.Model, reply.FinishReason, reply.Message.Content, reply.Message.Reasoning, call.ID, call.Arguments} {
				require.Contains(t, field, "[hidden]")
				require.NotContains(t, field, form)
			}
			require.True(t, json.Valid([]byte(call.Arguments)))
			require.Empty(t, reply.Message.Opaque, "changed data would be refused")
		})
	}
}

func TestAttackEndpointThatSaysTheKeyBackInAnError(t *testing.T) {
	for name, form := range forms {
		quoted, _ := json.Marshal(form)
		for kind, h := range map[string]http.HandlerFunc{
			"error": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, quoted)
			},
			"stream": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":%s,\"message\":%s}}\n\n", quoted, quoted)
			},
			"event": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, "data: {\"type\":\"message_start\"}\n\ndata: {%s\n\n", quoted)
			},
			"text":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, form, http.StatusBadGateway) },
			"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, "{%q", form) },
			"redirect": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://example.com/?key="+form)
				w.WriteHeader(http.StatusFound)
			},
			"an empty reply": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"type":"message","model":%[1]s,"stop_reason":%[1]s,"content":[]}`, quoted)
			},
			"a refusal": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"explanation":%s}}`, quoted)
			},
		} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				_, err := attacked(t, h)
				var told *llm.Error
				require.ErrorAs(t, err, &told)
				require.NotContains(t, fmt.Sprintf("%+v %v", *told, told.Err), form)
			})
		}
	}
}

// The values of headers and of the query, and the password in the URL, are secrets, too.
func TestAttackOtherSecretsAreHidden(t *testing.T) {
	var base string
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintln(w, r.Header.Get("Authorization"), r.URL.RawQuery)
	}), func(o *anthropic.Options) {
		base = o.BaseURL
		o.BaseURL = strings.Replace(base, "://", "://user:pass-word-1@", 1)
		o.Headers = map[string]string{"Authorization": "Bearer token-of-gateway"}
		o.Query = map[string]string{"sig": "signature-of-gateway"}
	})
	_, err := client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	for _, secret := range []string{"token-of-gateway", "signature-of-gateway", "pass-word-1"} {
		require.NotContains(t, err.Error(), secret)
	}
}

func TestAnUnreachableEndpointIsAConnectionError(t *testing.T) {
	t.Parallel()
	client, err := anthropic.New(anthropic.Options{BaseURL: "http://user:pass-word@127.0.0.1:1", Query: map[string]string{"key": "secret-of-url"}})
	require.NoError(t, err)
	_, err = client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "pass-word")
	require.NotContains(t, err.Error(), "secret-of-url")
}

// No response makes the client read or keep more than the limit.
func TestAttackResponsesWithoutAnEnd(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("x", 1<<20)
	const delta = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`
	for name, test := range map[string]struct {
		begin, more string
		status      int
	}{
		"a body":         {`{"type":"message","content":[{"type":"text","text":"`, mega, 200},
		"a line":         {"data: {", mega, 200},
		"a field name":   {"event: ", mega, 200},
		"an event":       {"data: {\n", "data: " + mega + "\n", 200},
		"a text":         {starts + hello, delta + mega + "\"}}\n\n", 200},
		"a signature":    {starts + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}` + "\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + mega + "\"}}\n\n", 200},
		"an input":       {starts + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}` + "\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + mega + "\"}}\n\n", 200},
		"unknown blocks": {starts, `data: {"type":"content_block_start","index":0,"content_block":{"type":"new","x":"` + mega + "\"}}\n\n", 200},
		"blocks":         {starts, strings.Repeat(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text"}}`+"\n\n", 1<<12), 200},
		"an error":       {`{"error":{"message":"`, mega, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/event-stream"}[test.begin[0] == '{'])
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.begin)
				for range 100 {
					n, err := io.WriteString(w, test.more)
					if sent += n; err != nil || r.Context().Err() != nil {
						return
					}
				}
			}))
			_, err := client.Complete(t.Context(), ask())
			var told *llm.Error
			require.ErrorAs(t, err, &told)
			if test.status == 200 {
				require.Equal(t, llm.TooLarge, told.Class, "%v", err)
			} else {
				require.Equal(t, llm.ServerError, told.Class)
			}
			require.Less(t, len(told.Message), 1000)
		})
	}
}

func TestARedirectIsNamedNotFollowed(t *testing.T) {
	t.Parallel()
	client := serve(t, http.RedirectHandler("https://example.com/v1", http.StatusMovedPermanently))
	_, err := client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
	require.ErrorContains(t, err, "redirects to https://example.com/v1")
}

// The status decides the class of the error even if the body is incomplete.
func TestTheStatusOfAFailureCountsWithoutItsBody(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusUnauthorized)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	_, err := client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.Unauthorized})
	require.ErrorContains(t, err, `check the API key of model "fast"`)
}

func TestErrorsOfGatewaysKeepTheirClass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		want   llm.Class
	}{
		{502, "<html><head><title>502 Bad Gateway</title></head></html>", llm.ServerError},
		{403, "<html><title>Blocked</title></html>", llm.Unauthorized},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		{400, `{"error":{"message":"Input is too long for requested model."}}`, llm.ContextTooLong},
		{404, `{"detail":"Not Found"}`, llm.NotFound},
		{422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llm.InvalidRequest},
		{200, `{"error":{"message":"Provider returned error","code":502}}`, llm.ServerError},
	} {
		p := &picky{refuse: func([]byte) (int, string) { return test.status, test.body }}
		_, err := serve(t, p).Complete(t.Context(), ask())
		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, test.want, told.Class, test.body)
	}
}

func TestNoAnswerInTimeIsAConnectionError(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}), func(o *anthropic.Options) { o.Timeout = 10 * time.Millisecond })
	_, err := client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "no complete response within 10ms")
}

// The client can be used by several goroutines, also while it learns a form.
func TestTheClientIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := &picky{refuse: rules(noAdaptive), next: llmtest.Handler(hi())}
	client := serve(t, p)
	done := make(chan error)
	for i := range 8 {
		go func() {
			req := ask()
			req.Params.ReasoningEffort = []string{"low", "high"}[i%2]
			_, err := client.Complete(t.Context(), req)
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}
