package calls_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If the endpoint refuses the API key, the chat is held. The error says what is wrong, and does not contain the key.
// When the key is right, the next message lets the chat go on.
func TestWrongKeyHoldsTheChat(t *testing.T) {
	const secret = "sk-test-0123456789abcdef"
	var right atomic.Bool
	far := llmtest.Handler(llmtest.Func(world.Script(llmtest.Say("hello"), llmtest.Say("yes"))))
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !right.Load() {
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(rw, `{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, secret)
			return
		}
		far.ServeHTTP(rw, r)
	}))
	t.Cleanup(endpoint.Close)
	t.Setenv("E2E_KEY", secret)
	w := world.New(t, world.Script(), nil, "")
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\", api_key_env: E2E_KEY}\nagents:\n  x: {model: main}\n", w.Queue, endpoint.URL))
	worker := w.Worker()
	out, errs, code := w.Starter("run", "--chat", "--id", t.Name(), "hi")
	require.Equal(t, 3, code)
	require.Contains(t, errs, "is held")
	require.Contains(t, errs, "API key")
	s := w.Show(t.Name())
	require.Equal(t, "held", s.Status)
	right.Store(true)
	require.Equal(t, "hello\n", w.Must("send", t.Name(), "better now?"))
	require.NotContains(t, out+errs+s.Error+worker.Output(), secret)
	history := world.Temporal.GetWorkflowHistory(t.Context(), t.Name(), "", false, 0)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		require.NotContains(t, event.String(), secret)
	}
}

// If the endpoint sends a web page in place of a reply, the model call fails at once. The error says that the reply is
// HTML.
func TestModelThatAnswersHTML(t *testing.T) {
	var asked atomic.Int32
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<html><body>Sign in</body></html>")
	}))
	t.Cleanup(endpoint.Close)
	w := world.New(t, world.Script(), nil, "")
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\"}\nagents:\n  x: {model: main}\n", w.Queue, endpoint.URL))
	w.Worker()
	_, errs, code := w.Starter("run", "--id", t.Name(), "hi")
	require.Equal(t, 3, code)
	require.Contains(t, errs, "HTML")
	require.Contains(t, errs, "base_url")
	require.EqualValues(t, 1, asked.Load())
}

// A tool result that is larger than the agent's limit is cut. Its beginning and its end are kept.
func TestHugeToolResultIsCut(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(context.Context, world.Effect) (string, error) {
		return "head<" + strings.Repeat("0123456789", 300_000) + ">tail", nil
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("read")), tools,
		"    limits: {tool_result_bytes: 1048576}\n")
	w.Worker()
	w.Must("run", "--id", t.Name(), "read")
	result := w.Show(t.Name()).Messages[2].Content
	require.Less(t, len(result), 1<<20)
	require.True(t, strings.HasPrefix(result, "head<"), result[:20])
	require.True(t, strings.HasSuffix(result, ">tail"))
	require.Contains(t, result, "bytes left out")
}

// A reply that does not fit into a payload is cut, and the chat goes on. The agent's usage counts the reply as
// repaired.
func TestHugeReplyIsCut(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(strings.Repeat("x", 3_000_000)), nil
	}, nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "hi")
	s := w.Show(t.Name())
	require.Equal(t, "waiting", s.Status)
	require.Less(t, len(s.Messages[1].Content), 1_000_000)
	require.Greater(t, len(s.Messages[1].Content), 500_000)
	require.Equal(t, 1, s.Usage["repaired_replies"])
}

// A call whose arguments do not fit the tool's schema does not reach the tool. Its result tells the model what is
// wrong.
func TestArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expr":"1"}`), llmtest.ToolCall("2", "calculator", `{"expression":`), llmtest.ToolCall("3", "fly", `{}`)),
		llmtest.Say("sorry"),
	), nil, "    tools: [calculator]\n")
	w.Worker()
	w.Must("run", "--id", t.Name(), "hi")
	lines := w.Show(t.Name()).Lines()
	require.Contains(t, lines[2], "expr")
	require.Contains(t, lines[3], "not a JSON object")
	require.Contains(t, lines[4], `no tool "fly"`)
}
