package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"

	"github.com/reagent-dev/reagent/workflows"

	reagent "github.com/reagent-dev/reagent/client"
)

// What Temporal delivers again after a reset, and what it does not.

// transcript waits until an agent that waits has so many messages.
func (w *world) transcript(id string, count int) []string {
	var lines []string
	w.eventually(fmt.Sprint(id, " waits with ", count, " messages"), func() bool {
		s := w.show(id)
		lines = s.lines()
		return s.Status == "waiting" && len(lines) == count
	})
	return lines
}

// deleteRuns deletes runs that have ended, by their agents, as Temporal does when the namespace's retention is over.
func (w *world) deleteRuns(runs map[string]string) {
	for id, run := range runs {
		_, err := w.temporal.WorkflowService().DeleteWorkflowExecution(w.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		})
		require.NoError(w.t, err)
	}
	for id, run := range runs {
		w.eventually("run "+run+" is gone", func() bool {
			_, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, run)
			return errors.As(err, new(*serviceerror.NotFound))
		})
	}
}

// A message that steered the agent enters at the same place when a reset delivers it again: behind the task and the
// results that its sender had seen, and not before them. So nothing is asked or done again.
func TestSteeringMessagesKeepTheirPlacesOverAReset(t *testing.T) {
	t.Parallel()
	reading, thinking := newGate(), newGate()
	tools := newToolServer(t)
	tools.add("read", readOnly, func(ctx context.Context, e effect) (string, error) { return "read", reading.pass(ctx) })
	tools.add("pay", nil, echo)
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch asked(req) {
		case 0:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`)), nil
		case 1:
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":2}`)), thinking.pass(ctx)
		case 2:
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":3}`)), nil
		}
		return llmtest.Say("done " + req.Messages[len(req.Messages)-1].Content), nil
	}, tools, "")
	w.worker()
	w.must("run", "--chat", "--detach", "--id", t.Name(), "the task")
	reading.wait(t)
	w.must("send", "--detach", t.Name(), "while it reads") // to a busy agent it steers
	close(reading.open)
	thinking.wait(t)
	w.must("send", "--detach", t.Name(), "while it thinks")
	close(thinking.open)
	want := w.transcript(t.Name(), 10)
	require.Equal(t, []string{"user: the task", "user: while it reads", "user: while it thinks"},
		slices.DeleteFunc(slices.Clone(want), func(line string) bool { return !strings.HasPrefix(line, "user:") }))
	require.Equal(t, "user: while it reads", want[3])
	require.Equal(t, "user: while it thinks", want[6])
	for range 2 {
		w.reset(t.Name(), "", 1)
		require.Equal(t, want, w.transcript(t.Name(), len(want)))
		w.once()
	}
}

// A run that was reset is reset again, at each of its tasks. The events that are copied hold what that run asked its earlier runs:
// for messages, and for the answers of sub-agents.
func TestRunThatWasResetIsResetAtEachOfItsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Messages[0].Content == "You count.":
			return llmtest.Say("counted " + last.Content), nil
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", fmt.Sprintf(`{"task":%q}`, last.Content))), nil
		}
		return llmtest.Say("the clerk " + last.Content), nil
	}, nil, "")
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: workflows.AttributeTypes()}) // more commands
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w.moveTo(own)
	w.workerHere(worker.Options{}, func(*agent.Definition) {},
		activities.Agent{Name: "x", Model: "main", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main", Instructions: "You count."},
	)
	id := t.Name()
	w.must("run", "--chat", "-a", "x", "--id", id, "one")
	w.must("send", id, "two")
	first := w.runID(id)
	for n, part := range []int{1000, 2} { // of the run's tasks
		second := w.reset(id, first, w.taskCount(id, first)/part+1)
		messages := 4*n + 8
		w.transcript(id, messages)
		require.Equal(t, "the clerk counted "+second+"\n", w.must("send", id, second))
		want := w.transcript(id, messages+4)
		for task := range w.taskCount(id, second) {
			w.reset(id, second, task+1)
			require.Equal(t, want, w.transcript(id, messages+4), "reset to task %d", task+1)
			w.once()
		}
		first = second
	}
}

// repeatingWorld is one whose model repeats the last message.
func repeatingWorld(t *testing.T) *world {
	return newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say("re: " + req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
}

// A run that was reset looks for messages of other runs, also where the run that it was reset from had looked before those came.
func TestRunThatWasResetLooksOnceMore(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	w.worker()
	id := t.Name()
	w.must("run", "--chat", "--id", id, "one")
	first := w.runID(id)
	second := w.reset(id, first, 1)
	w.transcript(id, 2)
	w.must("send", id, "to the second run") // which looks before it takes the message
	w.reset(id, first, 1)
	w.transcript(id, 4)
	w.must("send", id, "to the third run")
	w.reset(id, second, w.taskCount(id, second))
	require.Equal(t, []string{
		"user: one", "assistant: re: one", "user: to the second run", "assistant: re: to the second run",
		"user: to the third run", "assistant: re: to the third run",
	}, w.transcript(id, 6))
	w.once()
}

// A run that found a message in another run has it for later runs, also where the other run is deleted.
func TestFoundMessageOutlivesTheRunThatTookIt(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	w.worker()
	id := t.Name()
	w.must("run", "--chat", "--id", id, "one")
	first := w.runID(id)
	second := w.reset(id, first, 1)
	w.transcript(id, 2)
	w.must("send", id, "to the second run")
	third := w.reset(id, first, 1)
	w.transcript(id, 4)
	w.must("send", id, "to the third run")
	want := w.transcript(id, 6)
	fourth := w.reset(id, third, 1)
	require.Equal(t, want, w.transcript(id, 6), "what was found comes before what was sent later")
	w.once()
	w.deleteRuns(map[string]string{id: first})
	w.deleteRuns(map[string]string{id: second})
	w.deleteRuns(map[string]string{id: third})
	w.reset(id, fourth, 1)
	require.Equal(t, want, w.transcript(id, 6))
}

// A message that Temporal delivers again, and a cancel, come in the first task of a run: of one that continued another, or of the agent's
// first one. The agent that is resumed has the message, also where the run was terminated before it had that task.
func TestMessageDeliveredAgainBesideACancelIsKept(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	worker := w.worker()
	for name, c := range map[string]struct {
		before    func(id string)
		terminate bool
	}{
		"continued": {before: func(id string) { w.roll(id) }}, "first": {before: func(string) {}},
		"first, terminated": {before: func(string) {}, terminate: true},
	} {
		id := t.Name() + "-" + strings.ReplaceAll(name, ", ", "-")
		w.must("run", "--chat", "--id", id, "one")
		c.before(id)
		w.must("send", id, "two")
		w.transcript(id, 4)
		worker.kill()
		w.reset(id, "", 1)
		require.NoError(t, w.temporal.CancelWorkflow(t.Context(), id, ""))
		end := "cancelled"
		if c.terminate {
			require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), id, "", "test"))
			end = "terminated"
		}
		worker = w.worker()
		w.eventually("it is "+end, func() bool {
			read, err := w.client.Read(t.Context(), id) // a run that had no task answers no query
			return err == nil && string(read.Status) == end
		})
		w.must("resume", "--detach", id)
		w.eventually(name+": it waits and has both messages", func() bool {
			s := w.show(id)
			return s.Status == "waiting" && strings.Contains(strings.Join(s.lines(), "\n"), "user: two\nassistant: re: two")
		})
		w.once()
	}
}

// A message that a run took which was reset from the same run is not lost when that older run is reset once more.
func TestSecondResetOfARunKeepsTheMessagesOfTheRunBetween(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("paid"), nil
	}, tools, "")
	w.worker()
	for name, task := range map[string]func(tasks int) int{
		"first": func(int) int { return 1 }, "middle": func(n int) int { return n / 2 }, "last": func(n int) int { return n }, // only waits
	} {
		id := t.Name() + "-" + name
		w.must("run", "--chat", "--id", id, "one")
		w.must("send", id, "two")
		older := w.runID(id)
		n := task(w.taskCount(id, older))
		w.reset(id, older, n)
		w.transcript(id, 8)
		w.must("send", id, "three")
		want := w.transcript(id, 12)
		w.reset(id, older, n)
		require.Equal(t, want, w.transcript(id, 12), name)
		require.Equal(t, "paid\n", w.must("send", id, "four"))
	}
	w.once()
}

// A run whose history is gone leaves in doubt what it may have done, and nothing else.
func TestDeletedRunLeavesLaterCallsAlone(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	held := newGate()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != llm.User {
			return llmtest.Say("said: " + last.Content), nil
		}
		if last.Content == "one" {
			return llmtest.Say("hello"), held.pass(ctx)
		}
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
	}, tools, "")
	w.worker()
	resumed, reset := t.Name()+"-resumed", t.Name()+"-reset"
	w.must("run", "--chat", "--detach", "--id", resumed, "one")
	held.wait(t)
	bases := map[string]string{resumed: w.runID(resumed)}
	w.terminateAgent(resumed)
	w.must("resume", "--detach", resumed)
	close(held.open)
	w.transcript(resumed, 2)

	w.must("run", "--chat", "--id", reset, "one")
	bases[reset] = w.runID(reset)
	w.reset(reset, "", 1)
	w.transcript(reset, 2)

	w.deleteRuns(bases)
	for id := range bases {
		require.Equal(t, "said: did {}\n", w.must("send", id, "two"), "the tool runs")
	}
}

// A message that is given to a resume is taken also where the agent never began, and where its state was not read.
func TestResumeOfAnAgentThatNeverBeganKeepsItsMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("read ", len(req.Messages))), nil
	}, nil, "")
	id := t.Name()
	w.must("run", "--chat", "--detach", "--id", id, "one") // no worker runs
	w.terminateAgent(id)
	w.must("resume", "--detach", "--message", "two", id)
	w.terminateAgent(id) // its state was not read
	read, err := w.client.Read(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "x", read.Agent)
	w.must("resume", "--detach", "--message", "three", id)
	w.worker()
	lines := w.transcript(id, 4)
	require.Equal(t, []string{"user: one", "user: two", "user: three"}, lines[:3])
}

// Of two programs that resume an agent the slower one does not take back what the agent did meanwhile, and is told.
func TestSlowResumeTakesNothingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if text := req.Messages[len(req.Messages)-1].Content; !strings.HasPrefix(text, "go on") {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no " + text}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.worker()
	slow := func(id, message string, meanwhile func()) (reagent.Started, error) {
		c := w.delayed("/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution", meanwhile)
		return c.Resume(t.Context(), id, reagent.ResumeOptions{Message: message})
	}

	id := t.Name() + "-completed"
	_, _, _ = w.starter("run", "--id", id, "fail")
	w.ends(id, "failed")
	started, err := slow(id, "go on twice", func() { w.must("resume", "--message", "go on once", id) })
	require.NoError(t, err)
	require.Equal(t, reagent.Started{ID: id, Found: true, Status: reagent.Completed}, started)
	require.Equal(t, []string{"user: fail", "user: go on once", "assistant: done"}, w.show(id).lines())

	id = t.Name() + "-failed"
	_, _, _ = w.starter("run", "--id", id, "fail")
	w.ends(id, "failed")
	_, err = slow(id, "go on", func() {
		_, _, _ = w.starter("resume", "--message", "fail again", id)
		w.ends(id, "failed")
	})
	require.NoError(t, err)
	w.finished(id, "done")
	require.Equal(t, []string{"user: fail", "user: fail again", "user: go on", "assistant: done"}, w.show(id).lines())
}

// delayed is a client of the agents that does something else once, before its first call of a method.
func (w *world) delayed(method string, first func()) *reagent.Client {
	options, err := config.ClientOptions(w.address, "")
	require.NoError(w.t, err)
	var once sync.Once
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, called string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if called == method {
				once.Do(first)
			}
			return invoke(ctx, called, req, reply, conn, opts...)
		}))
	c, err := sdk.Dial(options)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return agentsOf(c, w.queue)
}

// taskCount returns how many workflow tasks of a run were completed.
func (w *world) taskCount(id, run string) int {
	n := 0
	for event, err := range history.Events(w.t.Context(), w.temporal, agent.RunRef{ID: id, RunID: run}) {
		require.NoError(w.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			n++
		}
	}
	return n
}
