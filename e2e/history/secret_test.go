package history_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The API key of a model stays on the worker. It is not in Temporal's database, not in a log, and not in the output of
// a command, even if an error of the endpoint contains it.
func TestKeyStaysOnTheWorker(t *testing.T) {
	const secret = "sk-test-6f1d7c55e0b94f6d"
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	var asked atomic.Int32
	answers := llmtest.Handler(llmtest.Func(world.Script(
		llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"6*7"}`)), llmtest.Say("42"), llmtest.Say("43"))))
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), secret) {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch asked.Add(1) {
		case 1: // the call is retried
			rw.Header().Set("Retry-After", "0")
			rw.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(rw, `{"error":{"message":"rate limited for key %s"}}`, secret)
		case 3: // the turn is held
			rw.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(rw, `{"error":{"message":"bad request by Bearer %s"}}`, secret)
		default:
			answers.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(endpoint.Close)

	var log bytes.Buffer
	database := filepath.Join(t.TempDir(), "dev.db")
	own, err := devserver.Start(t.Context(), devserver.Options{DBFilename: database, LogTo: &log})
	require.NoError(t, err)
	defer own.Stop()
	w := world.New(t, world.Script(), nil, "")
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\", api_key_file: %q}\nagents:\n  x: {model: main, tools: [calculator]}\n",
		w.Queue, endpoint.URL, file))
	at := []string{"--address", own.Address()}
	worker := w.Worker(append(at, "--verbose")...)
	var said strings.Builder
	for _, command := range [][]string{
		{"run", "--chat", "--id", "x1", "six times seven?"}, {"show", "--json", "x1"},
		{"send", "x1", "again"}, {"show", "--json", "x1"}, {"list", "--json"}, {"close", "x1"},
	} {
		out, errs, _ := w.Starter(append(at, command...)...)
		said.WriteString(out + errs)
	}
	require.Contains(t, said.String(), "is held", "the endpoint refused once")
	require.Contains(t, said.String(), "42")
	worker.Terminate()
	w.Eventually("the worker has stopped", worker.Ended)
	own.Stop()

	searched := 0
	for _, name := range []string{database, database + "-wal"} {
		content, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		searched += len(content)
		require.Contains(t, string(content), "six times seven?", "the search finds what is there")
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))[:20]} {
			require.NotContains(t, string(content), form)
		}
	}
	require.Positive(t, searched)
	require.NotContains(t, said.String()+worker.Output()+log.String(), secret)
}
