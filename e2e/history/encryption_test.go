package history_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// keyOf returns the bytes of the key with an ID.
func keyOf(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:]
}

// useKeys makes workers, starters and clients that are created later encrypt with the last of the keys. It returns the text with the keys.
func useKeys(t *testing.T, ids ...string) string {
	withoutCodec(t)
	text := "active: " + ids[len(ids)-1] + "\nkeys:\n"
	for _, id := range ids {
		text += "  " + id + ": " + base64.StdEncoding.EncodeToString(keyOf(id)) + "\n"
	}
	file := filepath.Join(t.TempDir(), "keys.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	t.Setenv(encryption.KeysFileEnv, file)
	return text
}

// withoutCodec leaves out the codec server of a run of all tests with one.
func withoutCodec(t *testing.T) {
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "")
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
}

// hasKey reports whether a text has the key in one of the forms in which somebody could have written it.
func hasKey(text, id string) bool {
	key := keyOf(id)
	return slices.ContainsFunc([]string{string(key), base64.StdEncoding.EncodeToString(key)[:20], hex.EncodeToString(key)[:20], fmt.Sprintf("%d", key)[1:40]},
		func(form string) bool { return strings.Contains(text, form) })
}

// vocabulary are words in all places that an agent has. They begin with a name that tells the run.
type vocabulary string

var places = []string{"Instructions", "Task", "Arguments", "Edited", "Result", "ChildTask", "ChildAnswer", "Answer", "Message", "Reply", "Failure"}

// plant makes a world on the server `own` whose models and tools say the words.
func (v vocabulary) plant(t *testing.T, own *devserver.Server) *world.World {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(context.Context, world.Effect) (string, error) { return string(v) + "Result", nil })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1].Content; last {
		case string(v) + "Task":
			return llmtest.Call(
				llmtest.ToolCall("1", "pay", `{"for":"`+string(v)+`Arguments"}`), llmtest.ToolCall("2", "clerk", `{"task":"`+string(v)+`ChildTask"}`),
			), nil
		case string(v) + "ChildTask":
			return llmtest.Say(string(v) + "ChildAnswer"), nil
		case string(v) + "Message":
			return llmtest.Say(string(v) + "Reply"), nil
		case string(v) + "Failure":
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: last}
		}
		return llmtest.Say(string(v) + "Answer"), nil
	}, tools, "    tools: [far.*]\n    agents: [clerk]\n    approval: {default: never, far.pay: always}\n    instructions: "+string(v)+"Instructions\n  clerk: {model: main}\n")
	w.MoveTo(own)
	return w
}

// begin starts a chat, up to a call that waits for an approval.
func (v vocabulary) begin(w *world.World) {
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", w.T.Name(), string(v)+"Task")
	w.Eventually("the call waits, and the sub-agent has ended", func() bool {
		seen, err := w.Client.Show(w.T.Context(), w.T.Name())
		return err == nil && seen.WaitsFor == client.WaitsForApproval && len(seen.Children) == 1 && seen.Children[0].Status == client.Completed
	})
}

// finish lets the chat go on: the call is approved with other arguments, a message is answered, and one fails.
func (v vocabulary) finish(w *world.World) {
	id := w.T.Name()
	w.Must("approve", id, "--arguments", `{"for":"`+string(v)+`Edited"}`)
	w.Eventually("the turn ends", func() bool {
		look, err := w.Client.Describe(w.T.Context(), id)
		return err == nil && look.WaitsFor == client.WaitsForMessage
	})
	require.Contains(w.T, w.Must("send", id, string(v)+"Message"), string(v)+"Reply")
	_, errs, code := w.Starter("send", id, string(v)+"Failure")
	require.Equal(w.T, 3, code, errs)
	require.Contains(w.T, errs, string(v)+"Failure")
	shown := w.Must("show", id, "--json")
	for _, word := range []string{"Task", "Arguments", "Result", "ChildAnswer", "Answer", "Message", "Reply"} {
		require.Contains(w.T, shown, string(v)+word)
	}
}

// ended waits for a worker that was told to stop, and returns what it has written.
func ended(w *world.World, worker *world.Process) string {
	worker.Terminate()
	w.Eventually("the worker has stopped", worker.Ended)
	return worker.Output()
}

// codecServerReads asserts that Temporal's own CLI and a starter without keys read an agent with the codec server, and only with it and its
// token.
func codecServerReads(w *world.World, own *devserver.Server, words vocabulary) {
	const auth = "Bearer 0123456789abcdef"
	at, running := codecServer(w, auth)
	require.Equal(w.T, "second-key", running.KeyID)

	temporal, err := devserver.Binary(w.T.Context(), io.Discard)
	require.NoError(w.T, err)
	// The CLI prints the data of payloads in base64. The memo has the task alone.
	task := base64.StdEncoding.EncodeToString([]byte(`"` + string(words) + `Task"`))
	for _, c := range []struct {
		reads bool
		flags []string
	}{
		{true, []string{"--codec-endpoint", at, "--codec-auth", auth}},
		{true, []string{"--codec-endpoint", at + "/{namespace}", "--codec-auth", auth}},
		{false, []string{"--codec-endpoint", at}},
		{false, nil},
	} {
		shown, _ := exec.Command(temporal, append([]string{"workflow", "show", "-w", w.T.Name(), "--address", own.Address(), "--output", "json"}, c.flags...)...).CombinedOutput()
		require.Equal(w.T, c.reads, strings.Contains(string(shown), task), "%q", c.flags)
	}

	show := w.Command("starter", "show", w.T.Name())
	show.Env = append(show.Env, encryption.KeysFileEnv+"=", "TEMPORAL_CODEC_ENDPOINT="+at, "TEMPORAL_CODEC_AUTH="+auth)
	shown, err := show.CombinedOutput()
	require.NoError(w.T, err, "%s", shown)
	require.Contains(w.T, string(shown), string(words)+"Answer")
}

// contents returns the text of all files whose names match.
func contents(t *testing.T, pattern string) string {
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, names, pattern)
	var all strings.Builder
	for _, name := range names {
		part, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(part)
	}
	return all.String()
}

// With keys, neither Temporal's whole database nor the folder for results has a word of an agent: the search finds the words of an agent
// without keys there. An agent that began under one key goes on under the next. Whoever lacks a key is told which, and no agent fails because
// of it. No key is in the database, in a log or in an error.
func TestNoWordOfAnEncryptedAgentIsStored(t *testing.T) {
	database, results := filepath.Join(t.TempDir(), "dev.db"), t.TempDir()
	own, err := devserver.Start(t.Context(), devserver.Options{DBFilename: database})
	require.NoError(t, err)
	defer own.Stop()
	const hidden, open = vocabulary("Hidden"), vocabulary("Open")
	var told string // by all programs with keys
	t.Run("hidden", func(t *testing.T) {
		require.True(t, hasKey(useKeys(t, "first-key"), "first-key"), "the search finds a key")
		w := hidden.plant(t, own)
		flags := []string{"--verbose", "--results-dir", filepath.Join(results, "hidden")}
		worker := w.Worker(flags...)
		require.Contains(t, worker.Output(), "Payloads    encrypted with the key first-key\n")
		hidden.begin(w)
		told += ended(w, worker)

		useKeys(t, "first-key", "second-key")
		w.MoveTo(own) // a client with both keys
		worker = w.Worker(flags...)
		require.Contains(t, worker.Output(), "Payloads    encrypted with the key second-key\n")
		hidden.finish(w)
		codecServerReads(w, own, hidden)
		t.Run("Web UI", func(t *testing.T) { webUIReads(t, w, own, hidden) })
		told += ended(w, worker)

		useKeys(t, "second-key")
		worker = w.Worker(flags...)
		_, errs, code := w.Starter("show", t.Name())
		require.NotZero(t, code)
		require.Contains(t, errs, `the key "first-key", which is missing; add it to`)
		told += errs
		w.Eventually("the worker says which key is missing", func() bool { return strings.Contains(worker.Output(), `the key \"first-key\", which is missing`) })
		told += ended(w, worker)
		withoutKeys := w.Command("starter", "show", t.Name())
		withoutKeys.Env = append(withoutKeys.Env, encryption.KeysFileEnv+"=")
		said, err := withoutKeys.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), encryption.KeysFileEnv)

		useKeys(t, "first-key", "second-key")
		worker = w.Worker(flags...)
		require.Contains(t, w.Must("send", t.Name(), string(hidden)+"Message"), string(hidden)+"Reply")
		told += ended(w, worker)
	})
	t.Run("open", func(t *testing.T) {
		withoutCodec(t)
		w := open.plant(t, own)
		worker := w.Worker("--results-dir", filepath.Join(results, "open"))
		require.NotContains(t, worker.Output(), "Payloads")
		open.begin(w)
		open.finish(w)
	})
	own.Stop()

	stored := contents(t, database+"*") // with the write-ahead log
	kept := map[vocabulary]string{hidden: contents(t, filepath.Join(results, "hidden", "*")), open: contents(t, filepath.Join(results, "open", "*"))}
	for _, place := range places {
		require.Contains(t, stored, string(open)+place)
		require.NotContains(t, stored, string(hidden)+place)
		require.NotContains(t, kept[hidden], string(hidden)+place)
	}
	for _, place := range []string{"Arguments", "Result", "ChildAnswer", "Answer", "Reply"} {
		require.Contains(t, kept[open], string(open)+place)
	}
	for _, key := range []string{"first-key", "second-key"} {
		require.Contains(t, stored, key)
		require.Contains(t, kept[hidden], key)
		for where, text := range map[string]string{"database": stored, "folder": kept[hidden], "output": told} {
			require.False(t, hasKey(text, key), "%s is in the %s", key, where)
		}
	}
}
