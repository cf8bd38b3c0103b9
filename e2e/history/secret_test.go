package history_test

import (
	"bytes"
	"context"
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
	"github.com/reagent-dev/reagent/llm"
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

	requireNowhere(t, database, "six times seven?", secret)
	require.NotContains(t, said.String()+worker.Output()+log.String(), secret)
}

// A key that a command prints may change in the middle of a turn. The command may fail, print too much, or hang while its worker is killed:
// the agent waits, says for what, and goes on when the command prints a key that the endpoint accepts. No request is answered twice, and no
// key is in Temporal's database, in a log, or in the output of a command.
func TestKeyOfACommandStaysOnTheWorker(t *testing.T) {
	keys := []string{"sk-test-0b94f6d6f1d7c55e", "sk-test-11e7d0c5b94f6d6f", "sk-test-2d7c55e0b94f6d6f", "sk-test-34f6d6f1d7c55e0b", "sk-test-4c55e0b94f6d6f1d"}
	folder := t.TempDir()
	var accepted atomic.Int32 // the number of the key that the endpoint accepts
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	rotate := func() { write("key", keys[accepted.Add(1)]) }
	write("key", keys[0])
	write("mode", "print")
	script := filepath.Join(folder, "print-key")
	require.NoError(t, os.WriteFile(script, []byte(`cd `+folder+`
case $(cat mode) in
fail) set -x; echo $(cat key); exit 3;;
much) yes $(cat key) | head -c 1000000;;
hang) touch hangs; exec sleep 600;;
*) cat key;;
esac
`), 0o600))

	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == llm.Tool:
			return llmtest.Say("It is " + last.Content), nil
		case last.Content != "six times seven?":
			return llmtest.Say("Answer to " + last.Content), nil
		}
		rotate() // in the middle of the turn
		return llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"6*7"}`)), nil
	}, nil, "")
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); key != keys[accepted.Load()] {
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(rw, `{"error":{"message":"Incorrect API key provided: %s"}}`, key)
			return
		}
		w.Model.ServeHTTP(rw, r)
	}))
	t.Cleanup(endpoint.Close)
	var log bytes.Buffer
	database := filepath.Join(t.TempDir(), "dev.db")
	own, err := devserver.Start(t.Context(), devserver.Options{DBFilename: database, LogTo: &log})
	require.NoError(t, err)
	defer own.Stop()
	w.MoveTo(own)
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\", api_key_command: [sh, %q]}\nagents:\n  x: {model: main, tools: [calculator]}\n",
		w.Queue, endpoint.URL, script))
	var said strings.Builder
	starter := func(command ...string) string {
		out, errs, _ := w.Starter(command...)
		said.WriteString(out + errs)
		return out + errs
	}
	shows := func(text string) {
		w.Eventually(text, func() bool { return strings.Contains(starter("show", "x1"), text) })
	}
	first := w.Worker("--verbose")
	require.Contains(t, starter("run", "--chat", "--id", "x1", "six times seven?"), "It is 42")

	for mode, problem := range map[string]string{"fail": "the command failed: exit status 3", "much": "the command printed more than 16 KiB"} {
		write("mode", mode)
		rotate() // the endpoint refuses the key that the worker has
		starter("send", "--detach", "x1", mode)
		shows(problem)
		write("mode", "print")
		shows("Answer to " + mode)
	}

	write("mode", "hang")
	rotate()
	starter("send", "--detach", "x1", "hang")
	w.Eventually("the command hangs", func() bool {
		_, err := os.Stat(filepath.Join(folder, "hangs"))
		return err == nil
	})
	first.Kill()
	write("mode", "print")
	second := w.Worker("--verbose")
	shows("Answer to hang")
	starter("show", "--json", "x1")
	w.NothingTwice()
	second.Terminate()
	w.Eventually("the worker has stopped", second.Ended)
	own.Stop()

	requireNowhere(t, database, "six times seven?", keys...)
	for _, key := range keys {
		require.NotContains(t, said.String()+first.Output()+second.Output()+log.String(), key)
	}
}

// requireNowhere asserts that a database of Temporal has a text, and none of the secrets.
func requireNowhere(t *testing.T, database, present string, secrets ...string) {
	searched := 0
	for _, name := range []string{database, database + "-wal"} {
		content, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		searched += len(content)
		require.Contains(t, string(content), present, "the search finds what is there")
		for _, secret := range secrets {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))[:20]} {
				require.NotContains(t, string(content), form)
			}
		}
	}
	require.Positive(t, searched)
}
