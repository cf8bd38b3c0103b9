package recovery_test

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
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Temporal delivers some messages again after a reset, but not those of later runs. The tests in this file hold that no message
// is lost.

// deleteRuns deletes runs that have ended, and waits until they are gone. The parameter runs has the ID of a run for
// each ID of an agent. Temporal deletes runs in the same way when the retention time of the namespace is over.
func deleteRuns(w *world.World, runs map[string]string) {
	for id, run := range runs {
		_, err := w.Temporal.WorkflowService().DeleteWorkflowExecution(w.T.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		})
		require.NoError(w.T, err)
	}
	for id, run := range runs {
		w.Eventually("run "+run+" is gone", func() bool {
			_, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, run)
			return errors.As(err, new(*serviceerror.NotFound))
		})
	}
}

// After a reset, Temporal delivers the steering messages of an agent again. Each one enters the transcript at the same
// place as before, so no call is repeated.
func TestSteeringMessagesKeepTheirPlacesOverAReset(t *testing.T) {
	t.Parallel()
	reading, thinking := world.NewGate(), world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) { return "read", reading.Pass(ctx) })
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch world.Asked(req) {
		case 0:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`)), nil
		case 1:
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":2}`)), thinking.Pass(ctx)
		case 2:
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":3}`)), nil
		}
		return llmtest.Say("done " + req.Messages[len(req.Messages)-1].Content), nil
	}, tools, "")
	w.Worker()
	w.Must("run", "--chat", "--detach", "--id", t.Name(), "the task")
	reading.Wait(t)
	w.Must("send", "--detach", t.Name(), "while it reads") // a message to a busy agent is a steering message
	close(reading.Open)
	thinking.Wait(t)
	w.Must("send", "--detach", t.Name(), "while it thinks")
	close(thinking.Open)
	want := w.Transcript(t.Name(), 10)
	require.Equal(t, []string{"user: the task", "user: while it reads", "user: while it thinks"},
		slices.DeleteFunc(slices.Clone(want), func(line string) bool { return !strings.HasPrefix(line, "user:") }))
	require.Equal(t, "user: while it reads", want[3])
	require.Equal(t, "user: while it thinks", want[6])
	for range 2 {
		w.Reset(t.Name(), "", 1)
		require.Equal(t, want, w.Transcript(t.Name(), len(want)))
		w.NothingTwice()
	}
}

// A run that began by a reset can be reset again, to each of its workflow tasks. It has searched earlier runs for
// messages and for answers of sub-agents, and the new run replays these searches.
func TestRunThatWasResetIsResetAtEachOfItsTasks(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Messages[0].Content == "You count.":
			return llmtest.Say("counted " + last.Content), nil
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", fmt.Sprintf(`{"task":%q}`, last.Content))), nil
		}
		return llmtest.Say("the clerk " + last.Content), nil
	}, nil, "")
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()}) // runs then have more commands
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w.MoveTo(own)
	w.WorkerHere(worker.Options{}, func(*agent.Definition) {},
		activities.Agent{Name: "x", Model: "main", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main", Instructions: "You count."},
	)
	id := t.Name()
	w.Must("run", "--chat", "-a", "x", "--id", id, "one")
	w.Must("send", id, "two")
	first := w.RunID(id)
	for n, part := range []int{1000, 2} { // the run is reset to its first task, then to the middle
		second := w.Reset(id, first, w.TaskCount(id, first)/part+1)
		messages := 4*n + 8
		w.Transcript(id, messages)
		require.Equal(t, "the clerk counted "+second+"\n", w.Must("send", id, second))
		want := w.Transcript(id, messages+4)
		for task := range w.TaskCount(id, second) {
			w.Reset(id, second, task+1)
			require.Equal(t, want, w.Transcript(id, messages+4), "reset to task %d", task+1)
			w.NothingTwice()
		}
		first = second
	}
}

// A run that began by a reset searches other runs for messages. A message that comes during this search is answered.
// The run can be reset to each of its workflow tasks.
func TestMessageBesideASearchIsAnswered(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	search := world.NewHold(protocol.FindMessages)
	w.WorkerHere(worker.Options{Interceptors: []interceptor.WorkerInterceptor{search}}, func(*agent.Definition) {},
		activities.Agent{Name: "x", Model: "main"})
	id := t.Name()
	w.Must("run", "--chat", "--id", id, "one")
	run := w.Reset(id, "", 1)
	search.Wait(t)
	_, err := w.Client.Send(t.Context(), id, reagent.Message{Text: "two"})
	require.NoError(t, err)
	close(search.Open)
	want := []string{"user: one", "assistant: re: one", "user: two", "assistant: re: two"}
	require.Equal(t, want, w.Transcript(id, 4))
	for task := range w.TaskCount(id, run) {
		w.Reset(id, run, task+1)
		require.Equal(t, want, w.Transcript(id, 4), "reset to task %d", task+1)
	}
	w.NothingTwice()
}

// repeatingWorld returns a world whose model repeats the last message in its reply.
func repeatingWorld(t *testing.T) *world.World {
	return world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say("re: " + req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
}

// A run that began by a reset searches other runs for messages. It does so even if the run that was reset had already
// searched them, because later messages may have come to other runs since then.
func TestRunThatWasResetLooksOnceMore(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--id", id, "one")
	first := w.RunID(id)
	second := w.Reset(id, first, 1)
	w.Transcript(id, 2)
	w.Must("send", id, "to the second run") // the second run searches other runs before it takes the message
	w.Reset(id, first, 1)
	w.Transcript(id, 4)
	w.Must("send", id, "to the third run")
	w.Reset(id, second, w.TaskCount(id, second))
	require.Equal(t, []string{
		"user: one", "assistant: re: one", "user: to the second run", "assistant: re: to the second run",
		"user: to the third run", "assistant: re: to the third run",
	}, w.Transcript(id, 6))
	w.NothingTwice()
}

// A run keeps a message that it has found in another run. A later run gets the message, even if the other run was
// deleted.
func TestFoundMessageOutlivesTheRunThatTookIt(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--id", id, "one")
	first := w.RunID(id)
	second := w.Reset(id, first, 1)
	w.Transcript(id, 2)
	w.Must("send", id, "to the second run")
	third := w.Reset(id, first, 1)
	w.Transcript(id, 4)
	w.Must("send", id, "to the third run")
	want := w.Transcript(id, 6)
	fourth := w.Reset(id, third, 1)
	require.Equal(t, want, w.Transcript(id, 6), "what was found comes before what was sent later")
	w.NothingTwice()
	deleteRuns(w, map[string]string{id: first})
	deleteRuns(w, map[string]string{id: second})
	deleteRuns(w, map[string]string{id: third})
	w.Reset(id, fourth, 1)
	require.Equal(t, want, w.Transcript(id, 6))
}

// After a reset, a message and a cancel may come together in the first workflow task of the new run. The agent keeps
// the message, and answers it when the agent is resumed. This also holds if the run was terminated before this task.
func TestMessageDeliveredAgainBesideACancelIsKept(t *testing.T) {
	t.Parallel()
	w := repeatingWorld(t)
	worker := w.Worker()
	for name, c := range map[string]struct {
		before    func(id string)
		terminate bool
	}{
		"continued": {before: func(id string) { w.Roll(id) }}, "first": {before: func(string) {}},
		"first, terminated": {before: func(string) {}, terminate: true},
	} {
		id := t.Name() + "-" + strings.ReplaceAll(name, ", ", "-")
		w.Must("run", "--chat", "--id", id, "one")
		c.before(id)
		w.Must("send", id, "two")
		w.Transcript(id, 4)
		worker.Kill()
		w.Reset(id, "", 1)
		require.NoError(t, w.Temporal.CancelWorkflow(t.Context(), id, ""))
		end := "cancelled"
		if c.terminate {
			require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), id, "", "test"))
			end = "terminated"
		}
		worker = w.Worker()
		w.Eventually("it is "+end, func() bool {
			read, err := w.Client.ShowRecorded(t.Context(), id) // a run that had no task answers no query
			return err == nil && string(read.Status) == end
		})
		w.Must("resume", "--detach", id)
		w.Eventually(name+": it waits and has both messages", func() bool {
			s := w.Show(id)
			return s.Status == "waiting" && strings.Contains(strings.Join(s.Lines(), "\n"), "user: two\nassistant: re: two")
		})
		w.NothingTwice()
	}
}

// A run may be reset twice. The second reset does not lose the messages that came to the run that the first reset
// started.
func TestSecondResetOfARunKeepsTheMessagesOfTheRunBetween(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("paid"), nil
	}, tools, "")
	w.Worker()
	for name, task := range map[string]func(tasks int) int{
		"first": func(int) int { return 1 }, "middle": func(n int) int { return n / 2 }, "last": func(n int) int { return n }, // the last task only waits
	} {
		id := t.Name() + "-" + name
		w.Must("run", "--chat", "--id", id, "one")
		w.Must("send", id, "two")
		older := w.RunID(id)
		n := task(w.TaskCount(id, older))
		w.Reset(id, older, n)
		w.Transcript(id, 8)
		w.Must("send", id, "three")
		want := w.Transcript(id, 12)
		w.Reset(id, older, n)
		require.Equal(t, want, w.Transcript(id, 12), name)
		require.Equal(t, "paid\n", w.Must("send", id, "four"))
	}
	w.NothingTwice()
}

// If an earlier run was deleted, the outcome of the calls that it may have made is unknown. A call that it cannot have
// made still runs.
func TestDeletedRunLeavesLaterCallsAlone(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	held := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != llm.User {
			return llmtest.Say("said: " + last.Content), nil
		}
		if last.Content == "one" {
			return llmtest.Say("hello"), held.Pass(ctx)
		}
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
	}, tools, "")
	w.Worker()
	resumed, reset := t.Name()+"-resumed", t.Name()+"-reset"
	w.Must("run", "--chat", "--detach", "--id", resumed, "one")
	held.Wait(t)
	bases := map[string]string{resumed: w.RunID(resumed)}
	w.TerminateAgent(resumed)
	w.Must("resume", "--detach", resumed)
	close(held.Open)
	w.Transcript(resumed, 2)

	w.Must("run", "--chat", "--id", reset, "one")
	bases[reset] = w.RunID(reset)
	w.Reset(reset, "", 1)
	w.Transcript(reset, 2)

	deleteRuns(w, bases)
	for id := range bases {
		require.Equal(t, "said: did {}\n", w.Must("send", id, "two"), "the tool runs")
	}
}

// A message that is sent with a resume is kept, even if the agent is terminated before it has read its state. This also
// holds if the agent never ran before.
func TestResumeOfAnAgentThatNeverBeganKeepsItsMessages(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("read ", len(req.Messages))), nil
	}, nil, "")
	id := t.Name()
	w.Must("run", "--chat", "--detach", "--id", id, "one") // no worker runs
	w.TerminateAgent(id)
	w.Must("resume", "--detach", "--message", "two", id)
	w.TerminateAgent(id) // before any run has read the state
	read, err := w.Client.ShowRecorded(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "x", read.Agent)
	w.Must("resume", "--detach", "--message", "three", id)
	w.Worker()
	lines := w.Transcript(id, 4)
	require.Equal(t, []string{"user: one", "user: two", "user: three"}, lines[:3])
}

// If two programs resume an agent, the slower one continues the newest run, so nothing that the agent did is lost. If
// the newest run has completed, the slower program starts no run, and is told the status.
func TestSlowResumeTakesNothingBack(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if text := req.Messages[len(req.Messages)-1].Content; !strings.HasPrefix(text, "go on") {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no " + text}
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.Worker()
	slow := func(id, message string, meanwhile func()) (reagent.Started, error) {
		c := delayed(w, "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution", meanwhile)
		return c.Resume(t.Context(), id, reagent.ResumeOptions{Message: message})
	}

	id := t.Name() + "-completed"
	_, _, _ = w.Starter("run", "--id", id, "fail")
	w.Ends(id, "failed")
	started, err := slow(id, "go on twice", func() { w.Must("resume", "--message", "go on once", id) })
	require.NoError(t, err)
	require.Equal(t, reagent.Started{ID: id, Found: true, Status: reagent.Completed}, started)
	require.Equal(t, []string{"user: fail", "user: go on once", "assistant: done"}, w.Show(id).Lines())

	id = t.Name() + "-failed"
	_, _, _ = w.Starter("run", "--id", id, "fail")
	w.Ends(id, "failed")
	_, err = slow(id, "go on", func() {
		_, _, _ = w.Starter("resume", "--message", "fail again", id)
		w.Ends(id, "failed")
	})
	require.NoError(t, err)
	w.Finished(id, "done")
	require.Equal(t, []string{"user: fail", "user: fail again", "user: go on", "assistant: done"}, w.Show(id).Lines())
}

// delayed returns a client. Before this client first calls the given gRPC method, it calls the function in the
// parameter first.
func delayed(w *world.World, method string, first func()) *reagent.Client {
	options, err := dial.ClientOptions(w.Address, "")
	require.NoError(w.T, err)
	var once sync.Once
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, called string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if called == method {
				once.Do(first)
			}
			return invoke(ctx, called, req, reply, conn, opts...)
		}))
	c, err := sdk.Dial(options)
	require.NoError(w.T, err)
	w.T.Cleanup(c.Close)
	return world.AgentsOf(c, w.Queue)
}
