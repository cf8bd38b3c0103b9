package calls_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// waits is a call in the output of `starter inbox --json`.
type waits struct{ ID, Handle, Key, Tool, Arguments string }

// inbox returns the calls of the agents of a world that wait for a decision.
func inbox(w *world.World) []waits { return world.Objects[waits](w, "inbox", "--json") }

// inboxOf returns the calls of one agent that wait for a decision.
func inboxOf(w *world.World, id string) (all []waits) {
	for _, call := range inbox(w) {
		if call.ID == id {
			all = append(all, call)
		}
	}
	return all
}

// permit approves one call and all later ones of its tool. It leaves alone the other calls that wait, which
// `starter approve --for-agent` would approve, too.
func permit(w *world.World, id, handle string) {
	w.T.Helper()
	waiting, err := w.Client.Pending(w.T.Context(), id)
	require.NoError(w.T, err)
	at := slices.IndexFunc(waiting, func(c client.Waits) bool { return c.Handle() == handle })
	require.NotEqual(w.T, -1, at)
	require.NoError(w.T, w.Client.Decide(w.T.Context(), waiting[at], agent.Decision{Approve: true, Remember: agent.RememberTool}))
}

// payWorld returns a world in which the agent x makes the given number of calls of the tool pay, and each needs an approval. The
// counter has the arguments of the payments.
func payWorld(t *testing.T, calls int) (*world.World, func() []string) {
	var mu sync.Mutex
	var paid []string
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(_ context.Context, e world.Effect) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		paid = append(paid, e.Arguments)
		return "paid", nil
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			var all []llm.ToolCall
			for n := range calls {
				all = append(all, llmtest.ToolCall(fmt.Sprint(n), "pay", fmt.Sprintf(`{"n":%d}`, n)))
			}
			return llmtest.Call(all...), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    tools: [far.*]\n    approval: {far.pay: always}\n")
	return w, func() []string { mu.Lock(); defer mu.Unlock(); return paid }
}

// A call that needs an approval waits for it as state. The wait outlives the worker, and the decision holds after a reset.
func TestCallWaitsForAPerson(t *testing.T) {
	w, paid := payWorld(t, 1)
	first := w.Worker()
	id := t.Name()
	run := w.Start("starter", "run", "--id", id, "pay")
	w.Eventually("the person is told", func() bool { return strings.Contains(run.Output(), "waits for a decision on a call") })
	require.Len(t, inboxOf(w, id), 1)
	require.Equal(t, "waiting", w.Show(id).Status)
	require.Contains(t, w.Must("inbox"), "starter approve "+id)
	first.Kill()
	w.Worker()
	require.Empty(t, paid())
	call := inboxOf(w, id)[0]
	require.JSONEq(t, `{"n":0}`, call.Arguments)
	decided := world.Objects[struct{ Type, ID, Verdict, Handle, Key, Tool string }](w, "approve", id, call.Key, "--json")
	require.Equal(t, []struct{ Type, ID, Verdict, Handle, Key, Tool string }{{"decision", id, "approved", call.Handle, call.Key, "pay"}}, decided)
	w.Finished(id, "done")
	w.Eventually("the command ends with the answer", func() bool { return run.Ended() && strings.Contains(run.Output(), "done") })
	require.Len(t, paid(), 1)
	_, _, code := w.Starter("approve", id, call.Handle)
	require.Equal(t, 4, code, "the call has its result")

	w.Reset(id, "", 2)
	w.Finished(id, "done")
	w.NothingTwice()
}

// An approval of all later calls of a tool also approves its calls that wait already.
func TestApprovalForTheAgentSettlesTheCallsThatWait(t *testing.T) {
	w, paid := payWorld(t, 3)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "pay")
	w.Eventually("the calls wait", func() bool { return len(inboxOf(w, id)) == 3 })
	waiting := inboxOf(w, id)
	call := waiting[1].Handle
	var approved []string
	for _, d := range world.Objects[struct{ Verdict, Handle string }](w, "approve", id, call, "--for-agent", "--json") {
		approved = append(approved, d.Verdict+" "+d.Handle)
	}
	require.Equal(t, []string{"approved " + waiting[1].Handle, "approved " + waiting[0].Handle, "approved " + waiting[2].Handle}, approved)
	w.Finished(id, "done")
	require.ElementsMatch(t, []string{`{"n":0}`, `{"n":1}`, `{"n":2}`}, paid())
}

// If a run before a resume is reset, the decisions that came after the resume hold. Nobody is asked or notified again.
func TestDecisionsAfterAResumeHold(t *testing.T) {
	t.Setenv("HOOK_SECRET", hookSecret)
	hook := newHookServer(t)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "deploy", `{}`), llmtest.ToolCall("4", "pay", `{"n":4}`)),
		llmtest.Call(llmtest.ToolCall("5", "pay", `{"n":5}`)),
		llmtest.Say("done"),
	), tools, fmt.Sprintf("    tools: [far.*, deploy]\n    approval: {far.pay: always}\nexternal:\n  deploy: {description: deploys}\nnotify:\n  pager: {url: %q, secret_env: HOOK_SECRET}\n", hook.URL))
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "pay")
	waits := func(n int) []waits {
		w.Eventually("calls wait", func() bool { return len(inboxOf(w, id)) == n })
		return inboxOf(w, id)
	}
	calls := waits(4)
	w.Eventually("the hook is notified", func() bool { return len(hook.keys("agent.waits")) == 1 })
	run := w.RunID(id)
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), id, "", "test"))
	w.Must("resume", "--detach", id)
	waits(4)
	permit(w, id, calls[3].Handle)
	w.Must("revoke", id, calls[3].Handle)
	w.Must("approve", id, calls[0].Handle)
	w.Must("deny", id, calls[1].Handle, "--reason", "too much")
	w.Must("complete", id, "--call", calls[2].Handle, "version 12")
	fifth := waits(1)
	w.Must("approve", id, fifth[0].Handle)
	want := w.Transcript(id, 9)
	notified := len(hook.keys("agent.waits"))

	for task := w.TaskCount(id, run); task > 0; task-- {
		again := w.Reset(id, run, task)
		require.Equal(t, want, w.Transcript(id, 9))
		require.Empty(t, inboxOf(w, id))
		require.Contains(t, w.Must("permissions", id), "no permissions", "a permission that was revoked")
		require.Equal(t, again, w.RunID(id))
	}
	require.Len(t, hook.keys("agent.waits"), notified)
	w.NothingTwice()
}

// A person may deny a call with a reason, or change its arguments, and the model is told. All calls of a reply can be decided one by
// one or together.
func TestCallsAreDeniedAndChanged(t *testing.T) {
	t.Parallel()
	w, paid := payWorld(t, 4)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "pay")
	w.Eventually("the calls wait", func() bool { return len(inboxOf(w, id)) == 4 })
	calls := inboxOf(w, id)
	_, stderr, code := w.Starter("approve", id)
	require.Equal(t, 4, code)
	require.Contains(t, stderr, "4 calls")
	w.Must("deny", id, calls[0].Handle, "--reason", "too expensive")
	w.Must("approve", id, calls[1].Handle, "--arguments", `{"n":10}`)
	w.Must("approve", id, "--all")
	w.Finished(id, "done")
	require.Equal(t, []string{
		"tool: denied: a person refused this call: too expensive",
		"tool: A person changed the arguments of this call to {\"n\":10}. The result:\n\npaid",
		"tool: paid", "tool: paid",
	}, w.Show(id).Lines()[2:6])
	require.Len(t, paid(), 3)
	w.NothingTwice()
}

// If many people decide at the same time, one decision holds, and the others are told.
func TestOneDecisionHolds(t *testing.T) {
	t.Parallel()
	w, paid := payWorld(t, 1)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "pay")
	w.Eventually("the call waits", func() bool { return len(inboxOf(w, id)) == 1 })
	waiting, err := w.Client.Pending(t.Context(), id)
	require.NoError(t, err)
	var accepted atomic.Int32
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			decide := w.Client.Approve
			if n%2 == 0 {
				decide = w.Client.Deny
			}
			_, err := decide(t.Context(), id, waiting[0].Handle(), client.DecideOptions{By: fmt.Sprint("person ", n)})
			var gone *client.NoCallError
			if err == nil {
				accepted.Add(1)
			} else if !errors.Is(err, client.ErrRefused) && !errors.As(err, &gone) && !errors.Is(err, client.ErrClosed) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, accepted.Load())
	w.Finished(id, "done")
	require.LessOrEqual(t, len(paid()), 1)
}

// A call of a sub-agent is decided from the ID of the agent above it.
func TestCallOfASubAgentIsDecidedFromAbove(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch clerk := req.Messages[0].Content == "You pay."; {
		case world.Asked(req) > 0:
			return llmtest.Say("done"), nil
		case clerk:
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"pay"}`)), nil
	}, tools, "    agents: [clerk]\n    tools: []\n  clerk:\n    model: main\n    description: pays\n    instructions: You pay.\n    tools: [far.*]\n    approval: {default: always}\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "-a", "x", "--id", id, "pay")
	w.Eventually("the call waits", func() bool {
		waiting, err := w.Client.Pending(t.Context(), id)
		require.NoError(t, err)
		return len(waiting) == 1
	})
	w.Must("approve", id)
	w.Finished(id, "done")
	w.NothingTwice()
}
