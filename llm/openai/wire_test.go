package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// sent returns the fields of the body that the endpoint gets for a request.
func sent(t *testing.T, req llm.Request) map[string]json.RawMessage {
	t.Helper()
	endpoint := &standin.Endpoint{Client: llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
		return llmtest.Say("Hi."), nil
	}), Lenient: true}
	client := serve(t, endpoint, noStream)

	_, err := client.Complete(t.Context(), req)
	require.NoError(t, err)

	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(endpoint.Requests()[0].Body, &body))
	return body
}

// fieldOf returns a field of the body of a request, which can be read once more.
func fieldOf(t *testing.T, r *http.Request, name string) any {
	t.Helper()
	encoded, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body = io.NopCloser(strings.NewReader(string(encoded)))
	var body map[string]any
	require.NoError(t, json.Unmarshal(encoded, &body))
	return body[name]
}

func TestParametersThatAreNotSetAreNotSent(t *testing.T) {
	t.Parallel()

	body := sent(t, ask())

	require.Len(t, body, 3)
	require.Contains(t, body, "messages")
	require.Equal(t, `"test-model"`, string(body["model"]))
	require.Equal(t, `false`, string(body["stream"]))
}

// go-openai refuses some parameters depending on the model's name. The client must send them, because only the endpoint
// knows which parameters its models accept.
func TestModelNamesAreNotJudged(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"o1", "gpt-5", "gpt-6-sol", "openai/gpt-4o:free"} {
		req := ask()
		req.Candidates[0].Model = model
		temperature := 0.7000000001
		req.Params = llm.Params{Temperature: &temperature, MaxOutputTokens: 5}
		req.Tools = []llm.ToolSpec{{Name: "f"}}

		body := sent(t, req)

		require.Equal(t, "0.7000000001", string(body["temperature"]))
		require.Equal(t, "5", string(body["max_tokens"]))
		require.NotContains(t, body, "max_completion_tokens")
	}
}

func TestToolChoiceIsNotSentWithoutTools(t *testing.T) {
	t.Parallel()
	parallel := true
	req := ask()
	req.Params = llm.Params{ToolChoice: "auto", ParallelToolCalls: &parallel}

	body := sent(t, req)
	require.NotContains(t, body, "tool_choice")
	require.NotContains(t, body, "parallel_tool_calls")

	req.Tools = []llm.ToolSpec{{Name: "f"}}
	body = sent(t, req)
	require.Equal(t, `"auto"`, string(body["tool_choice"]))
	require.Equal(t, `true`, string(body["parallel_tool_calls"]))
	require.JSONEq(t, `[{"type":"function","function":{"name":"f"}}]`, string(body["tools"]))
}

func TestExtraParametersWin(t *testing.T) {
	t.Parallel()
	req := ask()
	req.Params = llm.Params{
		OutputSchema: json.RawMessage(`{"type":"object"}`),
		Extra: map[string]json.RawMessage{
			"response_format": json.RawMessage(`{"type":"json_object"}`),
			"min_p":           json.RawMessage(`0.10`),
		},
	}

	body := sent(t, req)
	require.Equal(t, `{"type":"json_object"}`, string(body["response_format"]))
	require.Equal(t, `0.10`, string(body["min_p"]))
}

func TestExtraParametersThatWouldChangeTheRequestAreRefused(t *testing.T) {
	t.Parallel()
	client := serve(t, http.NotFoundHandler())
	for name, value := range map[string]string{"messages": "[]", "stream": "true", "top_k": "{"} {
		req := ask()
		req.Params.Extra = map[string]json.RawMessage{name: json.RawMessage(value)}

		_, err := client.Complete(t.Context(), req)

		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.ErrorContains(t, err, name)
	}
}

func TestHeadersAreSent(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."))}
	client := serve(t, endpoint, func(o *openai.Options) { o.Headers = map[string]string{"X-Title": "Reagent"} })

	_, err := client.Complete(t.Context(), ask())

	require.NoError(t, err)
	header := endpoint.Requests()[0].Header
	require.Equal(t, "Bearer sk-very-secret", header.Get("Authorization"))
	require.Equal(t, "Reagent", header.Get("X-Title"))
}

// The endpoint may echo the key in any part of an error.
func TestErrorsNeverHoldTheKey(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"error object": `{"error":{"message":"bad key %s","code":"%[1]s"}}`,
		"code alone":   `{"error":{"code":"%s"}}`,
		"plain":        `bad key %s`,
		"long":         strings.Repeat("x", 590) + `%s`,
		"page":         `<html><head><title>%s</title></head></html>`,
		"list":         `{"detail":[{"loc":["header","%s"],"msg":"bad key %[1]s"}]}`,
	}
	for name, body := range bodies {
		for _, status := range []int{200, 302, 401, 500} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				t.Parallel()
				client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
					w.Header().Set("Location", "https://example.com/?key="+key)
					w.WriteHeader(status)
					_, _ = fmt.Fprintf(w, body, key)
				}))

				_, err := client.Complete(t.Context(), ask())

				require.Error(t, err)
				for ; err != nil; err = unwrap(err) {
					require.NotContains(t, err.Error(), "sk-very")
				}
			})
		}
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{
		401: `check the API key of model "fast"`,
		402: `check the plan and the balance of the account`,
		404: `check the fields base_url and model`,
	} {
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))

		_, err := client.Complete(t.Context(), ask())

		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `"fast" (test-model at 127.0.0.1:`)
		require.ErrorContains(t, err, http.StatusText(status))
	}
}

func TestARedirectIsNamedNotFollowed(t *testing.T) {
	t.Parallel()
	client := serve(t, http.RedirectHandler("https://example.com/v1", http.StatusMovedPermanently))

	_, err := client.Complete(t.Context(), ask())

	require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
	require.ErrorContains(t, err, "redirects to https://example.com/v1")
}

func TestAnAnswerThatIsTooLargeIsNotReadWhole(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`)
		_, _ = io.WriteString(w, strings.Repeat("x", 9<<20))
	}))

	_, err := client.Complete(t.Context(), ask())

	require.ErrorIs(t, err, &llm.Error{Class: llm.TooLarge})
}

func TestNoAnswerInTimeIsAConnectionError(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}), func(o *openai.Options) { o.Timeout = 10 * time.Millisecond })

	_, err := client.Complete(t.Context(), ask())

	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "no complete response within 10ms")
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
}

func TestAnUnreachableEndpointIsAConnectionError(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Options{BaseURL: "http://user:pass-word@127.0.0.1:1/v1"})
	require.NoError(t, err)

	_, err = client.Complete(t.Context(), ask())

	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "pass-word")
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
}
