package recovery_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// The tests in this file end or reset an agent's runs. The model endpoint and the tool server count what they get: nothing may be
// paid for or done twice.

// payroll returns a world with an agent whose task takes three model calls and four tool calls. Two of the tool calls
// are equal.
func payroll(t *testing.T) *world.World {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	tools.Add("pay", nil, world.Echo)
	return world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "pay", `{"n":2}`)),
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":3}`)),
		llmtest.Say("paid"),
	), tools, "")
}

func TestResetRepeatsNothing(t *testing.T) {
	w := payroll(t)
	w.Worker()
	w.Must("run", "--id", t.Name(), "pay")
	want := w.Show(t.Name()).Lines()
	first := w.RunID(t.Name())
	again := func(run string, task int) {
		w.Reset(t.Name(), run, task)
		w.Finished(t.Name(), "paid")
		s := w.Show(t.Name())
		require.Equal(t, want, s.Lines())
		w.NothingTwice()
	}
	again("", 1)    // to the very beginning
	again(first, 1) // the same run a second time
	again("", 3)    // a reset of a run that began by a reset
	again("", 1)
	require.Len(t, w.Requests(), 3)
	require.Len(t, w.Tools.Effects(), 4)
	require.Equal(t, 5, w.Runs(t.Name()))
	require.Equal(t, []string{t.Name()}, w.Listed(), "each agent once")
	newest, err := w.Temporal.DescribeWorkflowExecution(t.Context(), t.Name(), "")
	require.NoError(t, err)
	require.Empty(t, w.Listed("--after", "ended:"+newest.GetWorkflowExecutionInfo().GetCloseTime().AsTime().Format(time.RFC3339Nano)), "the older runs")
	require.Empty(t, w.Listed("--failed"), "those that were reset are terminated")
	read, err := w.Client.ShowRecorded(t.Context(), t.Name())
	require.NoError(t, err)
	require.Positive(t, read.Usage.Recalled)
}

// After a reset, Temporal delivers all earlier messages of a chat at once. The agent still takes one message for each
// turn, so its transcript stays the same.
func TestResetOfAChatKeepsItsOrder(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", world.Asked(req)+1)), nil
	}, nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "one")
	for _, text := range []string{"two", "three", "four"} {
		w.Must("send", t.Name(), text)
	}
	want := w.Show(t.Name()).Lines()
	w.Reset(t.Name(), "", 1)
	w.Eventually("the chat is where it was", func() bool {
		s := w.Show(t.Name())
		return s.Status == "waiting" && len(s.Messages) == 8
	})
	require.Equal(t, want, w.Show(t.Name()).Lines())
	w.NothingTwice()
	require.Equal(t, "reply 5\n", w.Must("send", t.Name(), "five"))
}

// If an agent is reset while a tool runs, the new run makes the same call. The tool does not run again, and the agent
// gets the result of the first call.
func TestResetWhileAToolRuns(t *testing.T) {
	var g atomic.Pointer[world.Gate]
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) { return "paid", g.Load().Pass(ctx) })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	w.Worker()
	for _, before := range []int{1, 3, 4} { // two tasks before the call, and one after it
		g.Store(world.NewGate())
		id := fmt.Sprint(t.Name(), before)
		w.Must("run", "--detach", "--id", id, fmt.Sprint("pay ", before))
		g.Load().Wait(t)
		if before == 4 {
			w.Must("send", "--detach", "--next", id, "and then?")
		}
		w.Reset(id, "", before)
		w.Eventually("the call is given out again", func() bool { return len(w.Show(id).Pending) == 1 })
		close(g.Load().Open)
		w.Finished(id, "done")
		require.Equal(t, "tool: paid", w.Show(id).Lines()[2])
	}
	w.NothingTwice()
}

// If the worker dies during a call of an at-most-once tool and the agent is then reset, the tool does not run again.
// The model is told that the outcome is unknown.
func TestResetWhileTheWorkerOfAToolIsGone(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) { return "paid", g.Pass(ctx) })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	g.Wait(t)
	w.Must("send", "--detach", "--next", t.Name(), "and then?") // so that the reset schedules the call again
	first.Kill()
	w.Reset(t.Name(), "", 4)
	w.Worker()
	w.Finished(t.Name(), "done")
	require.Contains(t, w.Show(t.Name()).Lines()[2], "outcome unknown")
	w.NothingTwice()
}

func TestTerminatedAgentIsResumed(t *testing.T) {
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) { return "text", g.Pass(ctx) })
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{}`), llmtest.ToolCall("2", "read", `{}`)), llmtest.Say("done"),
	), tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	g.Wait(t)
	w.Eventually("it is paid", func() bool { return len(w.Show(t.Name()).Pending) == 1 })
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), t.Name(), "", "test"))
	require.Equal(t, "terminated", w.Show(t.Name()).Status)
	first.Kill()
	w.Worker()
	require.Contains(t, w.Must("resume", t.Name()), "done")
	require.Equal(t, []int{1, 1}, world.Values(w.Requests()), "the model is not asked again for what it answered")
	require.Equal(t, []int{1, 2}, world.Values(tools.Effects()), "the read-only call ran again, under its key")
	require.Equal(t, []string{"user: pay", "assistant: [pay {}][read {}]", "tool: did {}", "tool: text", "assistant: done"}, w.Show(t.Name()).Lines())
	_, errs, code := w.Starter("resume", t.Name())
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has completed")
}

// If several programs resume a failed task at the same time, only one of them starts a new run. This run goes on where
// the task failed.
func TestFailedTaskIsResumedOnce(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 1 && broken.Load() {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "no"}
		}
		return world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done"))(ctx, req)
	}, tools, "")
	w.Worker()
	_, _, code := w.Starter("run", "--id", t.Name(), "pay")
	require.Equal(t, 3, code)
	broken.Store(false)
	results := make(chan reagent.Started, 3)
	for range 3 {
		go func() {
			started, err := w.Client.Resume(context.Background(), t.Name(), reagent.ResumeOptions{})
			if err != nil {
				started.ID = err.Error()
			}
			results <- started
		}()
	}
	resumed := 0
	for range 3 {
		if r := <-results; !r.Found && r.ID == t.Name() {
			resumed++
		}
	}
	require.Equal(t, 1, resumed)
	w.Finished(t.Name(), "done")
	require.Equal(t, []int{1, 2}, world.Values(w.Requests()), "the failed request is made again")
	require.Equal(t, []int{1}, world.Values(tools.Effects()))
}

func TestTimedOutAgentIsResumedWithAMessage(t *testing.T) {
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if err := g.Pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
	w.Worker()
	in := agent.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: "first", Text: "hello"}}
	_, err := w.Temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{
		ID: t.Name(), TaskQueue: w.Queue, WorkflowRunTimeout: time.Second, Memo: workflows.Memo(in),
	}, protocol.AgentWorkflow, in)
	require.NoError(t, err)
	w.Eventually("it times out", func() bool {
		look, err := w.Client.Describe(t.Context(), t.Name())
		return err == nil && look.Status == reagent.TimedOut
	})
	require.Contains(t, w.Must("resume", "--message", "go on", t.Name()), "go on")
	require.Equal(t, []string{"user: hello", "user: go on", "assistant: go on"}, w.Show(t.Name()).Lines())
}

// A resumed agent keeps its definition. With --reload, it reads the definition again.
func TestResumeReloadsTheDefinition(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "old" {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
		}
		return llmtest.Say(req.Messages[0].Content), nil
	}, nil, "    instructions: old\n")
	first := w.Worker()
	_, _, code := w.Starter("run", "--id", t.Name(), "hello")
	require.Equal(t, 3, code)
	first.Kill()
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main, instructions: new}\n", w.Queue, w.Model.URL))
	w.Worker()
	_, _, code = w.Starter("resume", t.Name())
	require.Equal(t, 3, code, "the definition is pinned")
	require.Contains(t, w.Must("resume", "--reload", t.Name()), "new")
}

// An agent may be terminated during a call of a tool, and resumed with a definition that does not have the tool. The
// model is told that the outcome of the call is unknown.
func TestRemovedToolMayHaveRun(t *testing.T) {
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) { return "paid", g.Pass(ctx) })
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	g.Wait(t)
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), t.Name(), "", "test"))
	first.Kill()
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main}\n", w.Queue, w.Model.URL))
	w.Worker()
	require.Contains(t, w.Must("resume", "--reload", t.Name()), "done")
	require.Equal(t, "tool: no result: the agent stopped before pay had a result, and pay is no longer among its tools; "+
		"outcome unknown — check before you retry", w.Show(t.Name()).Lines()[2])
	require.Equal(t, []int{1}, world.Values(tools.Effects()))
}

// A fork begins with the first messages of an agent, and repeats none of their calls. Its later calls have keys of
// their own.
func TestForkRepeatsNothing(t *testing.T) {
	w := payroll(t)
	w.Worker()
	w.Must("run", "--id", t.Name(), "pay")
	_, errs, code := w.Starter("fork", t.Name(), "--at", "3")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "fork it after message 1 or 5")
	w.Must("fork", t.Name(), "--at", "5", "--id", t.Name()+"-2", "--message", "and then?")
	s := w.Show(t.Name() + "-2")
	require.Equal(t, "completed", s.Status)
	require.Equal(t, w.Show(t.Name()).Lines()[:5], s.Lines()[:5])
	require.Equal(t, "user: and then?", s.Lines()[5])
	// The scripted model counts the replies in the request, so in the fork it calls pay once more.
	require.Len(t, w.Requests(), 5)
	require.Len(t, w.Tools.Effects(), 5)
	w.NothingTwice()
	w.Must("fork", t.Name(), "--id", t.Name()+"-3")
	require.Equal(t, "waiting", w.Show(t.Name()+"-3").Status)
	require.Equal(t, 0, w.Show(t.Name() + "-3").Usage["model_calls"])
}

// An agent with a long history continues in new runs. No message is lost, and no call is repeated, even after a reset
// to the first run.
func TestContinueAsNewLosesNothing(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"limit.historyCount.suggestContinueAsNew": "1200",
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && strings.HasSuffix(last.Content, "0") {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"for":%q}`, last.Content)), llmtest.ToolCall("2", "pay", `{}`)), nil
		}
		return llmtest.Say(fmt.Sprint("reply to ", last.Content)), nil
	}, tools, "    limits: {model_calls: 1000}\n")
	w.MoveTo(own)
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "message 0")
	first := w.RunID(t.Name())
	const messages = 500
	for i := 1; i < messages; i++ {
		w.Eventually("the message is taken", func() bool {
			_, err := w.Client.Send(t.Context(), t.Name(), reagent.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprint("message ", i)})
			if err != nil { // 100 wait already
				require.ErrorIs(t, err, reagent.ErrRefused)
			}
			return err == nil
		})
	}
	w.Eventually("all are answered", func() bool {
		s, err := w.Client.Show(t.Context(), t.Name())
		return err == nil && s.Status == reagent.Waiting
	})
	s := w.Show(t.Name())
	require.NotEqual(t, first, w.RunID(t.Name()))
	var users []string
	for _, m := range s.Messages {
		if m.Role == llm.User {
			users = append(users, m.Content)
		}
	}
	require.Len(t, users, messages)
	for i, text := range users {
		require.Equal(t, fmt.Sprint("message ", i), text)
	}
	require.Equal(t, "assistant", string(s.Messages[len(s.Messages)-1].Role))
	w.NothingTwice()

	listed, err := w.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", t.Name())})
	require.NoError(t, err)
	runs := len(listed.GetExecutions())
	t.Logf("%d messages in %d runs", messages, runs)
	require.Greater(t, runs, 2, "how many runs it takes depends on how many messages a workflow task brings")

	// The new run knows the IDs of earlier messages.
	before := len(s.Messages)
	_, err = w.Client.Send(t.Context(), t.Name(), reagent.Message{ID: "m7", Text: "message 7, once more"})
	require.NoError(t, err)
	require.Len(t, w.Show(t.Name()).Messages, before)

	// After a reset to the beginning of the first run, the agent gets the same transcript and repeats nothing.
	w.Reset(t.Name(), first, 1)
	w.Eventually("it is where it was", func() bool {
		s, err := w.Client.Show(t.Context(), t.Name())
		return err == nil && s.Status == reagent.Waiting && len(s.Messages) == before
	})
	require.Equal(t, s.Lines(), w.Show(t.Name()).Lines())
	w.NothingTwice()
}
