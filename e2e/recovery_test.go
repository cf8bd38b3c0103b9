package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"

	reagent "github.com/reagent-dev/reagent/client"
)

// Nothing is paid for twice and nothing is done twice, whatever happens to the
// agent's runs: counted at the model and at the tools.

// reset resets a run to its nth workflow task and returns the new run's ID. Run "" is the newest.
func (w *world) reset(id, run string, task int) string {
	events := w.temporal.GetWorkflowHistory(w.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var finish int64
	for n := 0; events.HasNext(); {
		event, err := events.Next()
		require.NoError(w.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			if n++; n == task {
				finish = event.GetEventId()
			}
		}
	}
	require.Positive(w.t, finish)
	out, err := w.temporal.ResetWorkflowExecution(w.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "test", WorkflowTaskFinishEventId: finish, RequestId: uuid.NewString(),
	})
	require.NoError(w.t, err)
	return out.GetRunId()
}

func (w *world) runID(id string) string {
	found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
	require.NoError(w.t, err)
	return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// once asserts that every request and every effect was made once.
func (w *world) once() {
	w.t.Helper()
	for key, n := range w.requests() {
		require.Equal(w.t, 1, n, "request %s", key)
	}
	if w.tools != nil {
		for key, n := range w.tools.effects() {
			require.Equal(w.t, 1, n, "effect %s", key)
		}
	}
}

// payroll is a task of three model calls and four tool calls, two of them equal.
func payroll(t *testing.T) *world {
	tools := newToolServer(t)
	tools.add("read", readOnly, echo)
	tools.add("pay", nil, echo)
	return newWorld(t, script(
		llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "pay", `{"n":2}`)),
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":3}`)),
		llmtest.Say("paid"),
	), tools, "")
}

func TestResetRepeatsNothing(t *testing.T) {
	w := payroll(t)
	w.worker()
	w.must("run", "--id", t.Name(), "pay")
	want := w.show(t.Name()).lines()
	first := w.runID(t.Name())
	again := func(run string, task int) {
		w.reset(t.Name(), run, task)
		w.finished(t.Name(), "paid")
		s := w.show(t.Name())
		require.Equal(t, want, s.lines())
		w.once()
	}
	again("", 1)    // to the very beginning
	again(first, 1) // the same run a second time
	again("", 3)    // a chain of resets
	again("", 1)
	require.Len(t, w.requests(), 3)
	require.Len(t, w.tools.effects(), 4)
	require.Equal(t, 5, w.runs(t.Name()))
	require.Equal(t, []string{t.Name()}, w.listed(), "each agent once")
	newest, err := w.temporal.DescribeWorkflowExecution(t.Context(), t.Name(), "")
	require.NoError(t, err)
	require.Empty(t, w.listed("--before", newest.GetWorkflowExecutionInfo().GetStartTime().AsTime().Format(time.RFC3339Nano)), "the older runs")
	require.Empty(t, w.listed("--failed"), "those that were reset are terminated")
	read, err := w.client.Read(t.Context(), t.Name())
	require.NoError(t, err)
	require.Positive(t, read.Usage.Recalled)
}

// All earlier updates come at once after a reset; one a turn keeps the path.
func TestResetOfAChatKeepsItsOrder(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", asked(req)+1)), nil
	}, nil, "")
	w.worker()
	w.must("run", "--chat", "--id", t.Name(), "one")
	for _, text := range []string{"two", "three", "four"} {
		w.must("send", t.Name(), text)
	}
	want := w.show(t.Name()).lines()
	w.reset(t.Name(), "", 1)
	w.eventually("the chat is where it was", func() bool {
		s := w.show(t.Name())
		return s.Status == "waiting" && len(s.Messages) == 8
	})
	require.Equal(t, want, w.show(t.Name()).lines())
	w.once()
	require.Equal(t, "reply 5\n", w.must("send", t.Name(), "five"))
}

// A tool that runs while its workflow is reset is given out once more by Temporal. It does not run.
func TestResetWhileAToolRuns(t *testing.T) {
	var g atomic.Pointer[gate]
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, e effect) (string, error) { return "paid", g.Load().pass(ctx) })
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	w.worker()
	for _, before := range []int{1, 3, 4} { // before the tool was asked for, twice, and after
		g.Store(newGate())
		id := fmt.Sprint(t.Name(), before)
		w.must("run", "--detach", "--id", id, fmt.Sprint("pay ", before))
		g.Load().wait(t)
		if before == 4 {
			w.must("send", "--detach", "--next", id, "and then?")
		}
		w.reset(id, "", before)
		w.eventually("the call is given out again", func() bool { return len(w.show(id).Pending) == 1 })
		close(g.Load().open)
		w.finished(id, "done")
		require.Equal(t, "tool: paid", w.show(id).lines()[2])
	}
	w.once()
}

// What a reset gives out again while its worker is gone does not run again.
func TestResetWhileTheWorkerOfAToolIsGone(t *testing.T) {
	t.Parallel()
	g := newGate()
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, e effect) (string, error) { return "paid", g.pass(ctx) })
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay")
	g.wait(t)
	w.must("send", "--detach", "--next", t.Name(), "and then?") // so that the reset gives the call out again
	first.kill()
	w.reset(t.Name(), "", 4)
	w.worker()
	w.finished(t.Name(), "done")
	require.Contains(t, w.show(t.Name()).lines()[2], "outcome unknown")
	w.once()
}

func TestTerminatedAgentIsResumed(t *testing.T) {
	g := newGate()
	tools := newToolServer(t)
	tools.add("read", readOnly, func(ctx context.Context, e effect) (string, error) { return "text", g.pass(ctx) })
	tools.add("pay", nil, echo)
	w := newWorld(t, script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{}`), llmtest.ToolCall("2", "read", `{}`)), llmtest.Say("done"),
	), tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay")
	g.wait(t)
	w.eventually("it is paid", func() bool { return len(w.show(t.Name()).Pending) == 1 })
	require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), t.Name(), "", "test"))
	require.Equal(t, "terminated", w.show(t.Name()).Status)
	first.kill()
	w.worker()
	require.Contains(t, w.must("resume", t.Name()), "done")
	require.Equal(t, []int{1, 1}, values(w.requests()), "the model is not asked again for what it answered")
	require.Equal(t, []int{1, 2}, values(tools.effects()), "the read-only call ran again, under its key")
	require.Equal(t, []string{"user: pay", "assistant: [pay {}][read {}]", "tool: did {}", "tool: text", "assistant: done"}, w.show(t.Name()).lines())
	_, errs, code := w.starter("resume", t.Name())
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has completed")
}

// A failed task goes on where it failed, once, however many resume it.
func TestFailedTaskIsResumedOnce(t *testing.T) {
	broken := true
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) == 1 && broken {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "no"}
		}
		return script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done"))(ctx, req)
	}, tools, "")
	w.worker()
	_, _, code := w.starter("run", "--id", t.Name(), "pay")
	require.Equal(t, 3, code)
	broken = false
	results := make(chan reagent.Started, 3)
	for range 3 {
		go func() {
			started, err := w.client.Resume(context.Background(), t.Name(), reagent.ResumeOptions{})
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
	w.finished(t.Name(), "done")
	require.Equal(t, []int{1, 2}, values(w.requests()), "the failed request is made again")
	require.Equal(t, []int{1}, values(tools.effects()))
}

func TestTimedOutAgentIsResumedWithAMessage(t *testing.T) {
	g := newGate()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if err := g.pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
	w.worker()
	in := workflows.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.InboxMessage{ID: "first", Text: "hello"}}
	_, err := w.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{
		ID: t.Name(), TaskQueue: w.queue, WorkflowRunTimeout: time.Second, Memo: workflows.Memo(in),
	}, workflows.Agent, in)
	require.NoError(t, err)
	w.eventually("it times out", func() bool {
		look, err := w.client.Look(t.Context(), t.Name())
		return err == nil && look.Status == reagent.TimedOut
	})
	require.Contains(t, w.must("resume", "--message", "go on", t.Name()), "go on")
	require.Equal(t, []string{"user: hello", "user: go on", "assistant: go on"}, w.show(t.Name()).lines())
}

// --reload reads the definition anew; without it the pinned one stays.
func TestResumeReloadsTheDefinition(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "old" {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
		}
		return llmtest.Say(req.Messages[0].Content), nil
	}, nil, "    instructions: old\n")
	first := w.worker()
	_, _, code := w.starter("run", "--id", t.Name(), "hello")
	require.Equal(t, 3, code)
	first.kill()
	w.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main, instructions: new}\n", w.queue, w.model.URL))
	w.worker()
	_, _, code = w.starter("resume", t.Name())
	require.Equal(t, 3, code, "the definition is pinned")
	require.Contains(t, w.must("resume", "--reload", t.Name()), "new")
}

// A tool that ran when its agent was ended, and that the new definition lacks, may have done its work: the model reads that.
func TestRemovedToolMayHaveRun(t *testing.T) {
	g := newGate()
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, e effect) (string, error) { return "paid", g.pass(ctx) })
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay")
	g.wait(t)
	require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), t.Name(), "", "test"))
	first.kill()
	w.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main}\n", w.queue, w.model.URL))
	w.worker()
	require.Contains(t, w.must("resume", "--reload", t.Name()), "done")
	require.Equal(t, "tool: interrupted: the agent stopped before pay had a result, and pay is no longer among its tools; "+
		"outcome unknown — check before you retry", w.show(t.Name()).lines()[2])
	require.Equal(t, []int{1}, values(tools.effects()))
}

// A sub-agent is found again, running or finished, whatever happens to its parent.
func TestSubAgentIsFoundAgain(t *testing.T) {
	for name, c := range map[string]struct {
		finished bool
		disturb  func(w *world, id string)
	}{
		"parent reset, sub-agent runs":     {false, func(w *world, id string) { w.reset(id, "", 1) }},
		"parent reset after the start":     {false, func(w *world, id string) { w.reset(id, "", 3) }},
		"parent reset, sub-agent finished": {true, func(w *world, id string) { w.reset(id, "", 1) }},
		"parent reset after the start, and the same run again": {false, func(w *world, id string) {
			first := w.runID(id)
			w.reset(id, first, w.taskCount(id, first))
			w.openGate()
			w.finished(id, "the clerk says: counted")
			w.reset(id, first, w.taskCount(id, first))
		}},
		"parent terminated and resumed": {false, func(w *world, id string) {
			require.NoError(w.t, w.temporal.TerminateWorkflow(w.t.Context(), id, "", "test"))
			w.must("resume", "--detach", id)
		}},
		"parent terminated, sub-agent finished, parent resumed": {false, func(w *world, id string) {
			s := w.show(id)
			require.NoError(w.t, w.temporal.TerminateWorkflow(w.t.Context(), id, "", "test"))
			w.openGate()
			w.finished(s.Children[0].ID, "counted")
			w.must("resume", "--detach", id)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			w := familyWorld(t, g)
			w.openGate = sync.OnceFunc(func() { close(g.open) })
			w.worker()
			id := strings.ReplaceAll(t.Name(), "/", "-")
			w.must("run", "--detach", "-a", "x", "--id", id, "ask the clerk")
			g.wait(t)
			if c.finished {
				w.openGate()
				w.finished(id, "the clerk says: counted")
			}
			c.disturb(w, id)
			w.openGate()
			w.finished(id, "the clerk says: counted")
			w.once()
			require.Len(t, w.requests(), 3)
			s := w.show(id)
			require.Len(t, s.Children, 1)
			require.Equal(t, "tool: counted", s.lines()[2])
		})
	}
}

// A sub-agent that takes longer than its budget is interrupted and goes on. The model asks
// again, with the same words, and gets the same one; it runs once.
func TestInterruptedSubAgentIsAskedForAgain(t *testing.T) {
	g := newGate()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			if err := g.pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			return llmtest.Say("counted"), nil
		}
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		case strings.Contains(last.Content, "interrupted: no answer within 1 second; the agent works on"):
			if asked(req) == 2 { // patient once, then the answer may come
				close(g.open)
			}
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		return llmtest.Say("the clerk says: " + last.Content), nil
	}, nil, "")
	w.workerHere(worker.Options{}, patient(1000),
		activities.Agent{Name: "x", Model: "main", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main", Instructions: "You count."},
	)
	w.must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	w.eventually("it ends", func() bool { return w.show(t.Name()).Status == "completed" })
	s := w.show(t.Name())
	require.Len(t, s.Children, 1)
	require.Contains(t, s.lines()[2], "interrupted: no answer within 1 second")
	require.NotZero(t, s.Usage["model_calls"])
}

// A fork has the first messages, repeats nothing, and has keys and sub-agents of its own.
func TestForkRepeatsNothing(t *testing.T) {
	w := payroll(t)
	w.worker()
	w.must("run", "--id", t.Name(), "pay")
	_, errs, code := w.starter("fork", t.Name(), "--at", "3")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "fork it after message 1 or 5")
	w.must("fork", t.Name(), "--at", "5", "--id", t.Name()+"-2", "--message", "and then?")
	s := w.show(t.Name() + "-2")
	require.Equal(t, "completed", s.Status)
	require.Equal(t, w.show(t.Name()).lines()[:5], s.lines()[:5])
	require.Equal(t, "user: and then?", s.lines()[5])
	// The scripted model goes by the number of replies: the fork pays once more, for itself.
	require.Len(t, w.requests(), 5)
	require.Len(t, w.tools.effects(), 5)
	w.once()
	w.must("fork", t.Name(), "--id", t.Name()+"-3")
	require.Equal(t, "waiting", w.show(t.Name()+"-3").Status)
	require.Equal(t, 0, w.show(t.Name() + "-3").Usage["model_calls"])
}

// An agent that has grown long goes on in new runs, and nobody notices.
func TestContinueAsNewLosesNothing(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"limit.historyCount.suggestContinueAsNew": "1200",
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && strings.HasSuffix(last.Content, "0") {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"for":%q}`, last.Content)), llmtest.ToolCall("2", "pay", `{}`)), nil
		}
		return llmtest.Say(fmt.Sprint("reply to ", last.Content)), nil
	}, tools, "    limits: {model_calls: 1000}\n")
	w.moveTo(own)
	w.worker()
	w.must("run", "--chat", "--id", t.Name(), "message 0")
	first := w.runID(t.Name())
	const messages = 500
	for i := 1; i < messages; i++ {
		w.eventually("the message is taken", func() bool {
			_, err := w.client.Send(t.Context(), t.Name(), reagent.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprint("message ", i)})
			if err != nil { // 100 wait already
				require.ErrorIs(t, err, reagent.ErrRefused)
			}
			return err == nil
		})
	}
	w.eventually("all are answered", func() bool {
		s, err := w.client.Show(t.Context(), t.Name())
		return err == nil && s.Status == reagent.Waiting
	})
	s := w.show(t.Name())
	require.NotEqual(t, first, w.runID(t.Name()))
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
	w.once()

	listed, err := w.temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", t.Name())})
	require.NoError(t, err)
	runs := len(listed.GetExecutions())
	t.Logf("%d messages in %d runs", messages, runs)
	require.GreaterOrEqual(t, runs, 6)

	// A message that was sent before is known in the new run.
	before := len(s.Messages)
	_, err = w.client.Send(t.Context(), t.Name(), reagent.Message{ID: "m7", Text: "message 7, once more"})
	require.NoError(t, err)
	require.Len(t, w.show(t.Name()).Messages, before)

	// Reset to the beginning of its first run, it comes to the same end, and repeats nothing.
	w.reset(t.Name(), first, 1)
	w.eventually("it is where it was", func() bool {
		s, err := w.client.Show(t.Context(), t.Name())
		return err == nil && s.Status == reagent.Waiting && len(s.Messages) == before
	})
	require.Equal(t, s.lines(), w.show(t.Name()).lines())
	w.once()
}
