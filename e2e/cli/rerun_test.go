package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// heard keeps the requests that a model has got.
type heard struct {
	mu  sync.Mutex
	all []llm.Request
}

func (h *heard) add(req llm.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, req)
}

func (h *heard) from(n int) []llm.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[n:]
}

// A rerun of a task gets the same text, images, schema and metadata, from the history alone. It has sub-agents of its own.
func TestRerunGivesATaskTheSameInput(t *testing.T) {
	t.Parallel()
	var requests heard
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch {
		case req.Messages[0].Content == "You help.":
			return llmtest.Say("helped"), nil
		case world.Asked(req) == 0:
			requests.add(req)
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"help"}`)), nil
		}
		return llmtest.Say(`{"sum": 42}`), nil
	}, nil, "")
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels: {main: {model: m, base_url: %q}}\nagents:\n  x: {model: main, agents: [clerk]}\n  clerk: {model: main, instructions: You help.}\n",
		w.Queue, w.Model.URL))
	worker := w.Worker()
	id, schema := t.Name(), filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type":"object"}`), 0o600))
	w.Must("run", "-q", "-a", "x", "--id", id, "--image", "https://example.com/a.png", "--output-schema", schema, "--metadata", "customer=7", "add it")
	worker.Kill()

	require.Equal(t, id+"-2\n", w.Must("rerun", id, "--id", id+"-2", "--detach"), "no worker is needed")
	_, stderr, code := w.Starter("rerun", id, "--id", id+"-2")
	require.Equal(t, 7, code, stderr)
	w.Worker()
	w.Finished(id+"-2", `{"sum": 42}`)
	require.Equal(t, `{"sum": 42}`+"\n", w.Must("rerun", id+"-2", "--id", id+"-3", "-q"))
	first, all := w.Show(id), requests.from(0)
	require.Len(t, all, 3)
	for i, again := range []string{id + "-2", id + "-3"} {
		require.Equal(t, first.Lines(), w.Show(again).Lines())
		require.Equal(t, all[0].Messages, all[i+1].Messages)
		require.Contains(t, all[i+1].Messages[0].Parts, llm.Part{Type: "image", URL: "https://example.com/a.png"})
		require.JSONEq(t, `{"type":"object"}`, string(all[i+1].Params.OutputSchema))
		snap, err := w.Client.ShowRecorded(t.Context(), again)
		require.NoError(t, err)
		require.Equal(t, agent.Metadata{"customer": "7"}, snap.Metadata)
		require.Len(t, snap.Children, 1)
		require.NotEqual(t, first.Children[0].ID, snap.Children[0].ID)
	}
	require.Contains(t, w.Must("diff", id, id+"-2"), "Both said and called the same, in 4 messages.")
	_, stderr, code = w.Starter("rerun", id+"-none")
	require.Equal(t, 4, code, stderr)
}

// A rerun of a chat takes each message of the user when it has answered the one before, from a start that no process has to follow. With
// --at, it keeps the first messages and asks the model only for the rest. Decisions of people are not taken over, and rerun says so.
func TestRerunTakesTheMessagesOfAChatOneByOne(t *testing.T) {
	t.Parallel()
	var requests heard
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		requests.add(req)
		if last := req.Messages[len(req.Messages)-1]; last.Content == "ask" {
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Number 7 or 8?"}`)), nil
		}
		return llmtest.Say(fmt.Sprint("reply ", world.Asked(req)+1)), nil
	}, nil, "    tools: [ask_user]\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "-q", "--chat", "--id", id, "one")
	w.Must("send", id, "--image", "https://example.com/b.png", "two")
	w.Must("send", id, "three")
	lines := w.Transcript(id, 6)
	before := len(requests.from(0))

	out, stderr, code := w.Starter("rerun", id, "--id", id+"-2")
	require.Zero(t, code, stderr)
	require.Equal(t, "> one\nreply 1\n> two\nreply 2\n> three\nreply 3\n", out)
	require.Contains(t, stderr, "starter diff "+id+" "+id+"-2")
	require.Equal(t, lines, w.Transcript(id+"-2", 6))
	again := requests.from(before)
	require.Len(t, again, 3)
	require.Equal(t, requests.from(0)[2].Messages, again[2].Messages)

	w.Must("rerun", id, "--at", "2", "--id", id+"-3", "-q")
	require.Equal(t, lines, w.Transcript(id+"-3", 6))
	require.Len(t, requests.from(before+3), 2, "the first answer was kept")
	w.Must("rerun", id, "--at", "3", "--id", id+"-4", "-q")
	require.Equal(t, lines, w.Transcript(id+"-4", 6))
	require.Len(t, requests.from(before+5), 2, "the second message was kept, too")
	for at, want := range map[string]int{"6": 4, "9": 2, "0": 2} {
		_, stderr, code := w.Starter("rerun", id, "--at", at)
		require.Equal(t, want, code, stderr)
	}

	asked := id + "-asked"
	w.Must("run", "--detach", "--chat", "--id", asked, "ask")
	w.Eventually("the question", func() bool { return len(w.Show(asked).Pending) == 1 })
	w.Must("answer", asked, "7")
	w.Must("send", asked, "two")
	_, stderr, code = w.Starter("rerun", asked, "--detach", "--id", asked+"-2")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "People had decided on 1 of the calls of "+asked+". The decisions are not taken over")
	w.Eventually("the question of the rerun", func() bool { return len(w.Show(asked+"-2").Pending) == 1 })
	require.Len(t, w.Show(asked+"-2").Messages, 2, "the message two waits for the answer to the first")
	w.Must("answer", asked+"-2", "8")
	require.Equal(t, "user: two", w.Transcript(asked+"-2", 6)[4])
	out = w.Must("diff", "--json", asked, asked+"-2")
	var found struct {
		Same int `json:"same_messages"`
		A, B struct {
			Message struct{ Tool, Content string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	require.Equal(t, 2, found.Same)
	require.Equal(t, []string{"ask_user", "7", "8"}, []string{found.A.Message.Tool, found.A.Message.Content, found.B.Message.Content})
}

// saying is a model that answers with its name and its system message.
func saying(_ context.Context, req llm.Request) (llm.Reply, error) {
	return llmtest.Say(req.Candidates[0].Model + ": " + req.Messages[0].Content), nil
}

// developed writes the configuration of a worker over the earlier one, as an editor does.
func developed(w *world.World, instructions string) {
	require.NoError(w.T, os.WriteFile(w.Config, fmt.Appendf(nil, "task_queue: %s\nmodels:\n  main: {model: small, base_url: %q}\n  best: {model: large, base_url: %[2]q}\n"+
		"agents:\n  x: {model: main, instructions: %s}\n", w.Queue, w.Model.URL, instructions), 0o600))
}

// Only a worker in development mode lets rerun choose every model and replace the instructions.
func TestRerunReplacesInstructionsInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	w := world.New(t, saying, nil, "")
	developed(w, "Be brief.")
	production := w.Worker()
	id, prompt := t.Name(), filepath.Join(t.TempDir(), "prompt.md")
	require.NoError(t, os.WriteFile(prompt, []byte("Be long.\n"), 0o600))
	require.Equal(t, "small: Be brief.\n", w.Must("run", "-q", "--id", id, "hello"))
	for want, args := range map[string][]string{
		"only by a worker in development mode": {"--instructions-file", prompt}, `may not use the model "best"`: {"--model", "best"},
	} {
		_, stderr, code := w.Starter(append([]string{"rerun", id}, args...)...)
		require.Equal(t, 3, code, stderr)
		require.Contains(t, stderr, want)
	}
	require.Equal(t, "small: Be brief.\n\nBe long.\n", w.Must("rerun", "-q", id, "--add-instructions", prompt))
	production.Kill()
	w.Worker("--dev")
	require.Equal(t, "large: Be long.\n", w.Must("rerun", "-q", id, "--id", id+"-2", "--instructions-file", prompt, "--model", "best"))
	require.Equal(t, "large: Be long.\n", w.Must("rerun", "-q", id+"-2"), "a rerun keeps the overrides of the other agent")
	require.Equal(t, "small: Be long.\n", w.Must("rerun", "-q", id, "--at", "1", "--instructions-file", prompt), "messages that were kept are no reason to keep the definition")
	_, stderr, code := w.Starter("rerun", id, "--instructions-file", prompt+".none")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "the file cannot be read")
}

// A worker in development mode takes a changed configuration for new agents, and for those that are running from their next turn on. A
// broken file changes nothing. After a crash of the worker, the running agents get what has changed meanwhile.
func TestDevelopmentTakesAChangedConfiguration(t *testing.T) {
	t.Parallel()
	w := world.New(t, saying, nil, "")
	developed(w, "Be brief.")
	worker := w.Worker("--dev")
	id := t.Name()
	say := func(want string) {
		t.Helper()
		require.Equal(t, want+"\n", w.Must("send", id, "hello"))
		started, err := w.Client.Start(t.Context(), client.StartOptions{Agent: "x", Message: "hello"})
		require.NoError(t, err)
		w.Finished(started.ID, want)
	}
	prints := func(p *world.Process, text string) {
		t.Helper()
		w.Eventually("the worker prints "+text, func() bool { return strings.Contains(p.Output(), text) })
	}
	require.Equal(t, "small: Be brief.\n", w.Must("run", "-q", "--chat", "--id", id, "hello"))

	developed(w, "Be long.")
	prints(worker, w.Config+" has changed; new definition: x\nAsked to read their definitions again: "+id+"\n")
	say("small: Be long.")

	require.NoError(t, os.WriteFile(w.Config, []byte("agents: {x: {modle: main}}\n"), 0o600))
	prints(worker, "has changed and cannot be used; the worker goes on with what it had:\n"+w.Config+":1: ")
	require.Contains(t, worker.Output(), "modle")
	say("small: Be long.")

	developed(w, "Be kind.")
	w.Eventually("the worker has the third configuration", func() bool { return strings.Count(worker.Output(), "Asked to read their definitions again: "+id) == 2 })
	say("small: Be kind.")

	developed(w, "Be French.")
	worker.Kill()
	worker = w.Worker("--dev")
	prints(worker, "Asked to read their definitions again: "+id+"\n")
	say("small: Be French.")
}
