package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// results returns the outcomes in the output of `starter … --where --json`. The keys are the agent IDs without the name of the test.
func results(t *testing.T, out string) map[string]string {
	all := map[string]string{}
	for text := range strings.Lines(out) {
		var l struct{ ID, Outcome string }
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		all[strings.TrimPrefix(l.ID, t.Name()+"-")] = l.Outcome
	}
	return all
}

// ours returns an expression for agents of this test alone.
func ours(t *testing.T, expression string) string {
	return fmt.Sprintf("--where=id startsWith %q and (%s)", t.Name()+"-", expression)
}

// After an outage of a provider, one command resumes the agents of one customer that failed, and no other. Repeating it does no harm.
func TestAgentsThatFailedAreResumedTogether(t *testing.T) {
	t.Parallel()
	var repaired atomic.Bool
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if !repaired.Load() && req.Messages[0].Content == "hello" {
			return llm.Reply{}, &llm.Error{Class: llm.QuotaExceeded, Message: "pay first"}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	for name, customer := range map[string]string{"a": "42", "b": "42", "c": "42", "other": "43"} {
		_, _, code := w.Starter("run", "--id", id(name), "--metadata", "customer="+customer, "hello")
		require.Equal(t, 3, code)
	}
	w.Must("run", "--id", id("fine"), "--metadata", "customer=42", "good day")
	where := ours(t, `failed and class == "QuotaExceeded" and metadata.customer == "42"`)
	w.Eventually("Temporal lists them", func() bool { return len(w.Listed(where)) == 3 && len(w.Listed()) == 5 })

	out := w.Must("resume", where, "--dry-run", "--json")
	require.Equal(t, map[string]string{"a": "would", "b": "would", "c": "would"}, results(t, out))
	_, errs, code := w.Starter("resume", where)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "3 agents would be affected, and nothing was done: add --yes, or see them with --dry-run")
	require.Len(t, w.Listed(where), 3, "nothing was done")
	_, errs, code = w.Starter("resume", "--where", `failed and agnt == "x"`)
	require.Equal(t, 2, code)
	require.Contains(t, errs, `unknown name "agnt"`)
	require.Contains(t, errs, `at character 12: agnt == "x"`)

	repaired.Store(true)
	out, errs, code = w.Starter("resume", where, "--yes", "--json")
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"a": "done", "b": "done", "c": "done"}, results(t, out))
	require.Contains(t, errs, "3 of 3 agents resumed\n")
	for _, name := range []string{"a", "b", "c"} {
		w.Finished(id(name), "done")
	}
	w.Eventually("none is left", func() bool { return len(w.Listed(where)) == 0 })
	require.Equal(t, []string{id("other")}, w.Listed(ours(t, "failed")), "the agent of another customer is as it was")
	_, errs, code = w.Starter("resume", where, "--yes")
	require.Zero(t, code)
	require.Contains(t, errs, "No agent matches; nothing was done")
}

// After a deploy, the agents with the old definition are found by its digest, and reloaded together.
func TestAgentsWithAnOldDefinitionAreReloadedTogether(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	g := world.NewGate()
	tools.Add("slow", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "", g.Pass(ctx) })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "slowly" {
			return llmtest.Call(llmtest.ToolCall("1", "slow", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    instructions: old\n")
	first := w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	for _, name := range []string{"a", "b"} {
		w.Must("run", "--chat", "--id", id(name), "hello")
	}
	w.Must("run", "--id", id("ended"), "hello")
	digest := func(name string) string {
		var shown struct{ Digest string }
		require.NoError(t, json.Unmarshal([]byte(w.Must("show", "--json", id(name))), &shown))
		require.Regexp(t, "^[0-9a-f]{12}$", shown.Digest)
		return shown.Digest
	}
	old := digest("a")
	require.Equal(t, old, digest("ended"))
	first.Terminate()
	first.Wait()
	config, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(strings.Replace(string(config), "instructions: old", "instructions: new", 1))
	w.Worker()
	w.Must("run", "--chat", "--id", id("new"), "hello")
	w.Must("run", "--chat", "--detach", "--id", id("busy"), "slowly")
	g.Wait(t)
	require.NotEqual(t, old, digest("new"))

	where := ours(t, fmt.Sprintf("digest == %q", old))
	w.Eventually("Temporal lists them", func() bool { return len(w.Listed(where)) == 3 && len(w.Listed()) == 5 })
	out, errs, code := w.Starter("reload", where, "--yes", "--json")
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"a": "done", "b": "done"}, results(t, out), "an agent that has ended is not reloaded")
	require.Equal(t, digest("new"), digest("a"))
	require.Equal(t, []string{id("ended")}, w.Listed(where))

	// A call that is running does not hold the command up.
	out, errs, code = w.Starter("reload", ours(t, "running"), "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "it reads its definition when its calls have ended")
	close(g.Open)
	w.Eventually("the call ends", func() bool { return w.Show(id("busy")).Status == "waiting" })
}

// Interrupt, send, close and cancel work on all agents that match. An agent that is already as the command leaves it counts as done.
func TestCommandsWorkOnAllAgentsThatMatch(t *testing.T) {
	t.Parallel()
	w := world.New(t, customers, nil, withScout)
	w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	for _, name := range []string{"a", "b"} {
		w.Must("run", "-a", "x", "--chat", "--detach", "--id", id(name), "run for ever")
	}
	w.Must("run", "-a", "x", "--chat", "--id", id("idle"), "hello")
	w.Must("run", "-a", "x", "--id", id("ended"), "hello")
	w.Eventually("Temporal lists them", func() bool { return len(w.Listed()) == 4 })
	all := ours(t, "true")
	do := func(args ...string) map[string]string {
		return results(t, w.Must(append(args, all, "--yes", "--json")...))
	}
	require.Equal(t, map[string]string{"a": "done", "b": "done", "idle": "already"}, do("interrupt"))
	require.Equal(t, map[string]string{"a": "already", "b": "already", "idle": "already"}, do("interrupt"))
	require.ElementsMatch(t, []string{id("a"), id("b")}, w.Listed(ours(t, "held")))

	require.Equal(t, map[string]string{"a": "done", "b": "done", "idle": "done"}, do("send", "--message-id", "m1", "go on"))
	require.Equal(t, map[string]string{"a": "already", "b": "already", "idle": "already"}, do("send", "--message-id", "m1", "go on"))
	for _, name := range []string{"a", "b", "idle"} {
		w.Eventually("it has answered", func() bool { return w.Show(id(name)).Status == "waiting" })
		require.Equal(t, 1, strings.Count(strings.Join(w.Show(id(name)).Lines(), "\n"), "go on"))
	}
	require.Equal(t, map[string]string{"a": "done"}, results(t, w.Must("close", ours(t, `id endsWith "-a"`), "--yes", "--json")))
	w.Ends(id("a"), "completed")
	require.Equal(t, map[string]string{"b": "done", "idle": "done"}, do("cancel"))
	w.Ends(id("b"), "cancelled")
	w.Eventually("all have ended", func() bool { return len(w.Listed(ours(t, "open"))) == 0 })
	require.Empty(t, do("cancel"))

	// The result of a command on one agent is of the same form.
	require.Equal(t, map[string]string{"one": "done"}, func() map[string]string {
		w.Must("run", "-a", "x", "--chat", "--id", id("one"), "hello")
		return results(t, w.Must("close", "--json", id("one")))
	}())
	_, errs, code := w.Starter("cancel", all, id("one"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "cancel takes an ID or --where, and not both")
	_, errs, code = w.Starter("cancel", "--yes", id("one"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--yes is only for --where")
}

// A message for many agents is never the answer to a question. The exit code says that an agent did not take it.
func TestMessageForManyIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "ask" {
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Delete all?"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "    tools: [ask_user]\n")
	w.Worker()
	id := func(name string) string { return t.Name() + "-" + name }
	w.Must("run", "--chat", "--detach", "--id", id("asks"), "ask")
	w.Must("run", "--chat", "--id", id("idle"), "hello")
	w.Eventually("Temporal lists them", func() bool { return len(w.Listed(ours(t, `waits_for in ["answer", "message"]`))) == 2 })
	out, errs, code := w.Starter("send", ours(t, "open"), "--yes", "--json", "yes")
	require.Equal(t, 8, code, errs)
	require.Equal(t, map[string]string{"asks": "failed", "idle": "done"}, results(t, out))
	require.Contains(t, errs, "1 of 2 agents failed")
	require.Contains(t, errs, "--message-id ")
	require.Equal(t, "answer", w.Show(id("asks")).Pending[0].WaitsFor)
}

// A command that is interrupted says how far it has come. Repeated, it does the rest.
func TestInterruptedCommandGoesOnWhenRepeated(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	w.Worker()
	var all []string
	for i := range 6 {
		all = append(all, fmt.Sprint(t.Name(), "-", i))
		w.Must("run", "--chat", "--id", all[i], "hello")
	}
	w.Eventually("Temporal lists them", func() bool { return len(w.Listed()) == 6 })
	slow := w.Start("starter", "cancel", ours(t, "open"), "--yes", "--rate", "0.5")
	says(w, slow, "done ")
	require.NoError(t, slow.Cmd.Process.Signal(syscall.SIGINT))
	slow.Wait()
	require.Equal(t, 130, slow.Cmd.ProcessState.ExitCode())
	require.Regexp(t, `interrupted: [1-5] of 6 agents cancelled, and [1-5] are left; repeat the command to go on`, slow.Output())
	w.Eventually("the rest is left", func() bool { n := len(w.Listed(ours(t, "open"))); return n > 0 && n < 6 })
	left := w.Listed(ours(t, "open"))
	done := slices.Sorted(maps.Keys(results(t, w.Must("cancel", ours(t, "open"), "--yes", "--json"))))
	require.Len(t, done, len(left))
	w.Eventually("none is left", func() bool { return len(w.Listed(ours(t, "open"))) == 0 })
}
