package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

func says(w *world.World, p *world.Process, text string) {
	w.T.Helper()
	w.Eventually("it says "+text, func() bool {
		if p.Ended() && !strings.Contains(p.Output(), text) {
			require.FailNow(w.T, "it ended", p.Output())
		}
		return strings.Contains(p.Output(), text)
	})
}

// `starter tail` prints every message once, until the agent ends. It goes on if the worker is killed and another one
// starts.
func TestTailShowsMessagesAsTheyComeOverTheDeathOfTheWorker(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	first := w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "one")
	tail := w.Start("starter", "tail", t.Name())
	says(w, tail, "reply 1\n")
	says(w, tail, ": waiting\n")
	first.Kill()
	idle := w.Start("starter", "tail", t.Name()) // an agent that waits for a message needs no worker to be shown
	says(w, idle, ": waiting\n")
	w.Worker()
	require.Equal(t, "reply 2\n", w.Must("send", t.Name(), "two"))
	says(w, tail, "reply 2\n")
	w.Must("close", t.Name())
	w.Eventually("tail ends", tail.Ended)
	require.Zero(t, tail.Cmd.ProcessState.ExitCode())
	require.Equal(t, 1, strings.Count(tail.Output(), "reply 1\n"))
	require.Equal(t, 1, strings.Count(tail.Output(), "reply 2\n"))
	require.Contains(t, tail.Output(), "Agent "+t.Name()+": completed\n")

	// tail also prints the messages of an agent that has ended, or only the last of them.
	require.Equal(t, "> one\nreply 1\n> two\nreply 2\n", w.Must("tail", t.Name()))
	require.Equal(t, "reply 2\n", w.Must("tail", "--last", "1", t.Name()))
	require.Empty(t, w.Must("tail", "--last", "0", t.Name()))
	var lines []string
	for line := range strings.Lines(w.Must("tail", "--json", "--last", "2", t.Name())) {
		var l struct {
			Index           *int
			Content, Status string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		if l.Index != nil {
			lines = append(lines, fmt.Sprint(*l.Index, " ", l.Content))
		} else {
			lines = append(lines, l.Status)
		}
	}
	require.Equal(t, []string{"2 two", "3 reply 2", "completed"}, lines)
}

// `starter tail` says that no worker takes the work of an agent, and goes on when another worker has started.
func TestTailSaysThatNoWorkerTakesTheWork(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if err := g.Pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return llmtest.Say("at last"), nil
	}, nil, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "one")
	g.Wait(t)
	tail := w.Start("starter", "tail", t.Name())
	first.Kill()
	says(w, tail, "No worker has answered yet on task queue")
	w.Worker()
	says(w, tail, "A worker answers.")
	says(w, tail, "at last\n")
	w.Eventually("tail ends", tail.Ended)
}

func TestTailOfAnEndedAgentNeedsNoWorker(t *testing.T) {
	w := world.New(t, world.Counting, nil, "")
	worker := w.Worker()
	w.Must("run", "--id", t.Name(), "one")
	worker.Kill()
	require.Equal(t, "> one\nreply 1\n", w.Must("tail", t.Name()))
	require.Equal(t, "reply 1\n", w.Must("tail", "--last", "1", t.Name()))
}

func TestTailOfNoAgentSaysSo(t *testing.T) {
	w := world.New(t, world.Counting, nil, "")
	_, errs, code := w.Starter("tail", "nobody")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "there is no agent with ID \"nobody\": `starter list` shows the agents")
}

// `starter tail` goes on if the Temporal server stops and is started again with its data.
func TestTailGoesOnWhenTemporalWasRestarted(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	options := devserver.Options{DBFilename: filepath.Join(t.TempDir(), "dev.db"), Port: world.FreePort(t)}
	own, err := devserver.Start(t.Context(), options)
	require.NoError(t, err)
	defer func() { own.Stop() }()
	at := []string{"--address", own.Address()}
	w.Worker(at...)
	w.Must(append(at, "run", "--chat", "--id", t.Name(), "one")...)
	tail := w.Start("starter", append(at, "tail", t.Name())...)
	says(w, tail, "reply 1\n")
	own.Stop()
	says(w, tail, "Temporal does not answer; trying again until it does.")
	own, err = devserver.Start(t.Context(), options)
	require.NoError(t, err)
	says(w, tail, "Temporal answers again.")
	// The worker may need longer than tail to reach the server again.
	w.Eventually("the agent answers", func() bool {
		_, _, code := w.Starter(append(at, "send", t.Name(), "two")...)
		return code == 0
	})
	says(w, tail, "reply 2\n")
	require.Equal(t, 1, strings.Count(tail.Output(), "reply 1\n"))
	require.NoError(t, tail.Cmd.Process.Signal(syscall.SIGINT))
	w.Eventually("tail ends", tail.Ended)
	require.Equal(t, 130, tail.Cmd.ProcessState.ExitCode())
}

// While a model call is retried, `starter run` prints the reason.
func TestRunSaysThatTheModelIsTriedAgain(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if g.Calls.Add(1) == 1 {
			return llm.Reply{}, &llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: 5 * time.Second}
		}
		return llmtest.Say("at last"), nil
	}, nil, "")
	w.Worker()
	out, errs, code := w.Starter("run", "--id", t.Name(), "hurry")
	require.Zero(t, code, errs)
	require.Contains(t, out, "at last\n")
	told := regexp.MustCompile(`(?m)^model: rate limit reached \(HTTP 429\): .*slow down; attempt 2 of 8 (starts in [1-5] s|is running)$`)
	require.Len(t, told.FindAllString(errs, -1), 1, errs)
}

func TestListFiltersByStateAndAgent(t *testing.T) {
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch req.Messages[len(req.Messages)-1].Content {
		case "wait":
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		case "break":
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "broken"}
		}
		return llmtest.Say("fine"), nil
	}, nil, "")
	defer close(g.Open)
	w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	w.Must("run", "--id", id("done"), "hello")
	w.Must("run", "--chat", "--id", id("waiting"), "hello")
	_, errs, code := w.Starter("run", "--chat", "--id", id("held"), "break")
	require.Equal(t, 3, code)
	require.Contains(t, errs, "starter send "+id("held"))
	_, _, code = w.Starter("run", "--id", id("failed"), "break")
	require.Equal(t, 3, code)
	w.Must("run", "--detach", "--id", id("busy"), "wait")
	g.Wait(t)

	all := map[string]string{"done": "completed", "waiting": "waiting", "held": "held", "failed": "failed", "busy": "running"}
	w.Eventually("the list has all of them", func() bool { return len(w.List()) == len(all) })
	require.Equal(t, all, w.List())
	require.Equal(t, map[string]string{"waiting": "waiting"}, w.List("--waiting"))
	require.Equal(t, map[string]string{"held": "held"}, w.List("--held"))
	require.Equal(t, map[string]string{"busy": "running"}, w.List("--running"))
	require.Equal(t, map[string]string{"failed": "failed"}, w.List("--failed"))
	require.Equal(t, map[string]string{"waiting": "waiting", "held": "held"}, w.List("--waiting", "--held"))
	require.Equal(t, all, w.List("--agent", "x"))
	require.Empty(t, w.List("--agent", "y"))

	out, _, code := w.Starter("list", "--limit", "1")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^ID +AGENT +STATUS +WAITS FOR +TOKENS +COST +AGE +TASK$`, out)
	require.Regexp(t, `(?m)^`+id("busy")+` +x +running +0 +- +\d+ s +wait$`, out)
	// Page by page, the list has the same agents in the same order, although one that has ended is newer than one that has not.
	listed := func(args ...string) (ids []string, after string) {
		out, errs, code := w.Starter(append([]string{"list", "--json"}, args...)...)
		require.Zero(t, code)
		for _, r := range world.Lines[struct{ ID string }](t, out) {
			ids = append(ids, r.ID)
		}
		if next := regexp.MustCompile(`--after (\S+),`).FindStringSubmatch(errs); next != nil {
			after = next[1]
		}
		return ids, after
	}
	whole, _ := listed("--limit", "0")
	pages, after := listed("--limit", "2")
	for after != "" {
		var page []string
		page, after = listed("--limit", "2", "--after", after)
		pages = append(pages, page...)
	}
	require.Equal(t, whole, pages)
	require.Less(t, slices.Index(whole, id("waiting")), slices.Index(whole, id("failed")))

	offers := w.Must("__complete", "show", t.Name())
	for name := range all {
		require.Contains(t, offers, id(name)+"\tx, ")
	}
	require.NotContains(t, w.Must("__complete", "rm", t.Name()), id("busy"), "it runs")
	require.Contains(t, w.Must("__complete", "run", "-a", ""), "x\n")
}

// `starter list` needs no worker. Temporal alone has what it prints: the status, the tokens and the task of each agent,
// and who has to act next.
func TestNewcomerListsAgentsWithoutAWorker(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "break" {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "broken"}
		}
		reply := llmtest.Say("fine")
		reply.Usage = llm.Usage{InputTokens: 20, OutputTokens: 3}
		return reply, nil
	}, nil, "")
	worker := w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	w.Must("run", "--chat", "--id", id("waiting"), "hello")
	w.Must("run", "--chat", "--id", id("upgraded"), "hello, too")
	w.Must("upgrade", id("upgraded"))
	w.Must("run", "--id", id("done"), "hello once")
	_, _, code := w.Starter("run", "--chat", "--id", id("held"), "break")
	require.Equal(t, 3, code)
	w.Must("show", id("upgraded")) // show answers when the new run has begun
	worker.Kill()
	w.Must("run", "--detach", "--id", id("new"), "nobody does this")

	type entry struct {
		ID, Status, Task string
		WaitsFor         string `json:"waits_for"`
		Class            string
		Spent            *struct {
			InputTokens int `json:"input_tokens"`
		}
	}
	ours := func(args ...string) map[string]entry {
		found := map[string]entry{}
		for _, e := range world.Objects[entry](w, append([]string{"list", "--json", "--limit", "0"}, args...)...) {
			if name, ok := strings.CutPrefix(e.ID, t.Name()+"-"); ok {
				found[name] = e
			}
		}
		return found
	}
	w.Eventually("the list has all of them", func() bool { return len(ours()) == 5 })
	all := ours()
	require.Equal(t, "waiting", all["waiting"].Status)
	require.Equal(t, "message", all["waiting"].WaitsFor)
	require.Equal(t, "hello", all["waiting"].Task)
	require.Equal(t, 20, all["waiting"].Spent.InputTokens)
	require.Equal(t, "waiting", all["upgraded"].Status)
	require.Equal(t, "hello, too", all["upgraded"].Task, "also in its second run")
	require.Equal(t, 20, all["upgraded"].Spent.InputTokens)
	require.Equal(t, "completed", all["done"].Status)
	require.Equal(t, "hello once", all["done"].Task)
	require.Equal(t, 20, all["done"].Spent.InputTokens)
	require.Equal(t, "held", all["held"].Status)
	require.Equal(t, "release", all["held"].WaitsFor)
	require.Equal(t, "InvalidRequest", all["held"].Class)
	require.Equal(t, "running", all["new"].Status)
	require.Equal(t, "nobody does this", all["new"].Task)
	require.Len(t, ours("--waiting"), 2)
	require.Len(t, ours("--held"), 1)
}

// `starter rm` deletes agents together with their sub-agents. If one of the given agents is running, it deletes
// nothing.
func TestRemoveDeletesTheTreeAndRefusesWhatRuns(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Tools) == 0 { // the sub-agent
			if strings.HasPrefix(req.Messages[len(req.Messages)-1].Content, "slow") {
				if err := g.Pass(ctx); err != nil {
					return llm.Reply{}, err
				}
			}
			return llmtest.Say("done"), nil
		}
		task := req.Messages[0].Content
		return world.Script(llmtest.Call(llmtest.ToolCall("1", "sub", `{"task":"`+task+`"}`)), llmtest.Say("all done"))(ctx, req)
	}, nil, "    agents: [sub]\n  sub:\n    model: main\n")
	own := world.StartDeletingServer(t)
	at := []string{"--address", own.Address()}
	starter := func(stdin string, args ...string) (string, string, int) {
		return w.StarterWith(stdin, append(at, args...)...)
	}
	w.Worker(at...)
	id := func(name string) string { return t.Name() + "-" + name }
	w.Must("--address", own.Address(), "run", "-a", "x", "--id", id("quick"), "quick")
	w.Must("--address", own.Address(), "run", "-a", "x", "--detach", "--id", id("slow"), "slow")
	g.Wait(t)
	w.Eventually("the list has both trees", func() bool { return len(w.List(at...)) == 4 })

	_, errs, code := starter("", "rm", "--yes", id("quick"), id("slow"))
	require.Equal(t, 4, code)
	require.Contains(t, errs, fmt.Sprintf("agent %q is still running", id("slow")))
	require.Contains(t, errs, "starter cancel")
	require.Len(t, w.List(at...), 4)

	_, errs, code = starter("", "rm", id("quick"))
	require.Equal(t, 2, code, "nobody answers")
	require.Contains(t, errs, "Delete agent "+id("quick")+" and 1 sub-agent? [y/N]")
	_, errs, code = starter("n\n", "rm", id("quick"))
	require.Zero(t, code)
	require.Contains(t, errs, "Nothing was deleted.")
	require.Len(t, w.List(at...), 4)

	_, errs, code = starter("y\n", "rm", id("quick"))
	require.Zero(t, code, errs)
	require.Contains(t, errs, "Deleting agent "+id("quick")+"\n")
	gone := func(name string) func() bool {
		return func() bool {
			_, _, code := starter("", "show", id(name))
			return code == 4
		}
	}
	w.Eventually("the agent is gone", gone("quick"))
	w.Eventually("the list has the other tree only", func() bool { return len(w.List(at...)) == 2 })

	close(g.Open)
	w.Eventually("the other ends", func() bool { return w.List(at...)["slow"] == "completed" })
	w.Must("--address", own.Address(), "rm", "--yes", id("slow"))
	w.Eventually("the agent is gone", gone("slow"))
	w.Eventually("nothing is listed", func() bool { return len(w.List(at...)) == 0 })
	_, errs, code = starter("", "rm", "--yes", id("slow"))
	require.Equal(t, 4, code)
	require.Contains(t, errs, "there is no agent with ID")
}
