package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If a command needs a worker and none is running, it says how to start one, and waits. When a worker comes, the
// command does its work. If none comes within the time in --wait, the command fails.
func TestNewcomerCommandsWaitForAWorker(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	worker := w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--id", id, "one")
	worker.Kill()
	for _, args := range [][]string{{"close", id}, {"upgrade", id}, {"send", id, "lost"}} {
		_, errs, code := w.Starter(append(args, "--wait", "3s")...)
		require.Equal(t, 5, code, "%v: %s", args, errs)
		require.Contains(t, errs, "no worker has answered on task queue \""+w.Queue+"\" for 3s; ")
		require.Contains(t, errs, "start a worker with `go run ./cmd/worker --config agents.yaml`, or wait longer with --wait")
	}
	_, errs, code := w.Starter("run", "--id", id+"-new", "--wait", "1s", "task")
	require.Equal(t, 5, code)
	require.Contains(t, errs, "agent "+id+"-new goes on when a worker answers")
	require.Contains(t, w.Must("show", id), "> one\nreply 1\n", "a look needs no worker")

	send := w.Start("starter", "send", id, "two")
	says(w, send, "No worker has answered yet on task queue")
	w.Worker()
	w.Eventually("it is answered", send.Ended)
	require.Zero(t, send.Cmd.ProcessState.ExitCode(), send.Output())
	require.Contains(t, send.Output(), "A worker answers.\nreply 2\n")
	require.NotContains(t, w.Must("show", id), "lost", "what was not sent is not there")
	w.Must("close", id)
	w.Ends(id, "completed")
	w.Ends(id+"-new", "completed")
}

// `starter run` ends with exit code 7 if the agent with this ID has another task. A command ends with exit
// code 6 if a limit stopped the agent's turn.
func TestNewcomerTakesATakenIDAndReachesALimit(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch text := req.Messages[len(req.Messages)-1].Content; {
		case strings.HasPrefix(text, "slow"):
			return llmtest.Say("at last"), g.Pass(ctx)
		case strings.HasPrefix(text, "read"):
			return llmtest.Call(llmtest.ToolCall("1", "read", "{}")), nil
		}
		return llmtest.Say("fine"), nil
	}, tools, "    limits: {model_calls: 1}\n")
	w.Worker()
	id := t.Name()

	w.Must("run", "--detach", "--id", id+"-slow", "slow", "task")
	_, errs, code := w.Starter("run", "--id", id+"-slow", "another", "task")
	require.Equal(t, 7, code)
	require.Contains(t, errs, "the ID "+id+"-slow is taken: an agent with this ID has another task and is running; this task was not started")
	_, errs, code = w.Starter("run", "--detach", "--id", id+"-slow", "another task")
	require.Equal(t, 7, code, errs)
	again := w.Start("starter", "run", "--id", id+"-slow", "slow task")
	says(w, again, "is running with this task already")
	close(g.Open)
	w.Eventually("the answer comes", again.Ended)
	require.Zero(t, again.Cmd.ProcessState.ExitCode())
	require.Contains(t, again.Output(), "at last\n")

	_, errs, code = w.Starter("run", "--id", id+"-task", "read it")
	require.Equal(t, 6, code)
	require.Contains(t, errs, "was stopped before its answer by limits.model_calls of its configuration, ")
	require.Contains(t, errs, "starter fork "+id+"-task --message TEXT")
	out, errs, code := w.Starter("run", "--chat", "--json", "--id", id+"-chat", "read it")
	require.Equal(t, 6, code)
	require.Contains(t, errs, "starter send "+id+"-chat TEXT")
	var seen struct{ Status, Stopped string }
	require.NoError(t, json.Unmarshal([]byte(out), &seen))
	require.Equal(t, "waiting", seen.Status)
	require.Equal(t, "model_calls", seen.Stopped)
	_, _, code = w.Starter("send", id+"-chat", "read it once more")
	require.Equal(t, 6, code)
	require.Equal(t, "fine\n", w.Must("send", id+"-chat", "now without tools"))
	require.Contains(t, w.Must("show", id+"-task"), "limits.model_calls")
}

// At its end, `starter run` prints the number of tokens and a link to the Web UI; with --quiet it prints only the
// answer. An interrupt ends the command, and the agent goes on. A command about an existing agent needs no
// configuration.
func TestNewcomerReadsTheEndOfARun(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "slow" {
			return llmtest.Say("at last"), g.Pass(ctx)
		}
		reply := llmtest.Say("42")
		reply.Usage = llm.Usage{InputTokens: 1200, OutputTokens: 3}
		return reply, nil
	}, nil, "")
	w.Worker()
	id := t.Name()
	out, errs, code := w.StarterWith("6 times 7?\n", "run", "--id", id)
	require.Zero(t, code, errs)
	require.Equal(t, "> 6 times 7?\n42\n", out)
	require.Equal(t, "Agent "+id+"\n1200 tokens in, 3 out\n", errs, "the Web UI of this server is on a port that nobody could guess")
	linked := w.Command("starter", "run", "--id", id+"-linked", "6 times 7?")
	linked.Env = append(linked.Env, "REAGENT_UI_URL="+world.Server.UIURL())
	end := w.StartCommand(linked)
	w.Eventually("the command ends", end.Ended)
	require.Contains(t, end.Output(), "1200 tokens in, 3 out  "+world.Server.UIURL()+"/namespaces/default/workflows/"+id+"-linked\n")
	linked = w.Command("starter", "run", "--detach", "--id", id+"-detached", "6 times 7?")
	linked.Env = append(linked.Env, "REAGENT_UI_URL="+world.Server.UIURL())
	end = w.StartCommand(linked)
	w.Eventually("the command ends", end.Ended)
	require.Equal(t, "Agent "+id+"-detached\n"+world.Server.UIURL()+"/namespaces/default/workflows/"+id+"-detached\n"+id+"-detached\n", end.Output())
	// starter recognises a Web UI on the usual port by this response.
	settings, err := http.Get(world.Server.UIURL() + "/api/v1/settings")
	require.NoError(t, err)
	defer settings.Body.Close()
	require.Equal(t, http.StatusOK, settings.StatusCode)
	require.Contains(t, settings.Header.Get("Content-Type"), "application/json")
	out, errs, code = w.Starter("run", "-q", "6 times 7?")
	require.Zero(t, code)
	require.Equal(t, "42\n", out)
	require.Empty(t, errs)

	run := w.Start("starter", "run", "--chat", "--id", id+"-slow", "slow")
	g.Wait(t)
	require.NoError(t, run.Cmd.Process.Signal(syscall.SIGINT))
	w.Eventually("the command ends", run.Ended)
	require.Equal(t, 130, run.Cmd.ProcessState.ExitCode())
	require.Contains(t, run.Output(), "interrupted; agent "+id+"-slow goes on: follow it with `starter tail "+id+"-slow`, end it with `starter cancel "+id+"-slow`")
	close(g.Open)

	w.Config = "not/here.yaml" // as if REAGENT_CONFIG had a relative path and the user were in another folder
	w.Eventually("the agent waits", func() bool { return w.Show(id+"-slow").Status == "waiting" })
	require.Equal(t, "42\n", w.Must("send", id+"-slow", "6 times 7?"))
	w.Must("close", id+"-slow")
	w.Ends(id+"-slow", "completed")
	require.Equal(t, "42\n", w.Must("fork", "-q", "--message", "again?", id), "on the task queue of the other")
	w.Must("list", "--limit", "1")
	_, errs, code = w.Starter("run", "hello")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "REAGENT_CONFIG names the configuration file not/here.yaml, which does not exist in /")
}

// `starter reload` gives a chat the changed configuration, and the chat keeps its transcript. A fork calls the model
// only if its last message is a user's.
func TestNewcomerReloadsAChatAndForksIt(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say("by " + req.Messages[0].Content), nil
	}, nil, "    instructions: rule one\n")
	worker := w.Worker()
	id := t.Name()
	require.Contains(t, w.Must("run", "--chat", "--id", id, "hello"), "by rule one\n")
	worker.Kill()
	text, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(strings.Replace(string(text), "rule one", "rule two", 1))
	w.Worker()
	require.Equal(t, "by rule one\n", w.Must("send", id, "and now?"), "the definition is pinned")
	_, errs, code := w.Starter("resume", "--reload", id)
	require.Equal(t, 4, code)
	require.Contains(t, errs, "its definition was not reloaded: use `starter reload "+id+"`")
	_, errs, code = w.Starter("reload", id)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "Agent "+id+" has its new definition\n")
	require.Equal(t, "by rule two\n", w.Must("send", id, "and now?"))
	require.Equal(t, "waiting", w.Show(id).Status)

	requests := len(w.Model.Requests())
	require.Empty(t, w.Must("fork", "-q", "--at", "2", "--detach", "--id", id+"-answered", id)[len(id+"-answered\n"):])
	w.Ends(id+"-answered", "waiting")
	require.Len(t, w.Model.Requests(), requests, "an answer wants no answer")
	require.Equal(t, "> hello\nby rule two\n", w.Must("fork", "--at", "1", id))
	require.Len(t, w.Model.Requests(), requests+1, "a user's message wants one")

	w.Must("close", id)
	w.Ends(id, "completed")
	_, errs, code = w.Starter("reload", id)
	require.Equal(t, 4, code)
	require.Contains(t, errs, "starter fork "+id+" --message TEXT")
	require.NotContains(t, errs, "resume")
}
