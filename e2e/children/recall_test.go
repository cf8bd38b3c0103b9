package children_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// office is a world with the agent x and its sub-agent clerk. The agent x asks clerk, and calls the tool pay for each
// result that it gets. The agent clerk calls pay once, and then its model call waits at the gate. The tool pay is
// at-most-once.
type office struct {
	*world.World
	id   string
	gate *world.Gate
	// stop stops the worker.
	stop     func()
	budgetMS int64
	// If stubborn is true, x asks for clerk again after each call without an answer.
	stubborn atomic.Bool

	mu   sync.Mutex
	paid map[string]int // payments by the key of the call
}

// newOffice returns an office with a running worker. If the parameter own is nil, it uses the Temporal server that all
// tests share. The parameter budgetMS is the time in milliseconds for which x waits for clerk; 0 means no limit.
func newOffice(t *testing.T, own *devserver.Server, budgetMS int64) *office {
	o := &office{id: strings.ReplaceAll(t.Name(), "/", "-"), gate: world.NewGate(), paid: map[string]int{}}
	o.World = world.New(t, o.model, nil, "")
	if own != nil {
		o.MoveTo(own)
	}
	o.OpenGate = sync.OnceFunc(func() { close(o.gate.Open) })
	o.budgetMS = budgetMS
	o.stop = o.serve()
	return o
}

// serve starts a worker in this process, and returns a function that stops it.
func (o *office) serve() (stop func()) {
	pay, err := tool.Func("pay", "pays", tool.AtMostOnce, func(ctx context.Context, in struct {
		For string `json:"for"`
	},
	) (string, error) {
		info := tool.InfoFrom(ctx)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.paid[info.Key]++
		return "paid", nil
	})
	require.NoError(o.T, err)
	o.Registry = new(tool.Registry)
	require.NoError(o.T, o.Registry.Add(pay))
	return o.WorkerHere(worker.Options{StickyScheduleToStartTimeout: time.Second}, patient(o.budgetMS),
		activities.Agent{Name: "x", Model: "main", Instructions: "x", Tools: []string{"pay"}, Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main", Instructions: "clerk", Tools: []string{"pay"}},
	)
}

func (o *office) model(ctx context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case req.Messages[0].Content == "clerk" && world.Asked(req) == 0:
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{"for":"the clerk"}`)), nil
	case req.Messages[0].Content == "clerk":
		return llmtest.Say("counted"), o.gate.Pass(ctx)
	case world.Asked(req) == 0, o.stubborn.Load() && strings.HasPrefix(last.Content, "no result yet: no answer"):
		return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
	case last.Content == "paid":
		return llmtest.Say(fmt.Sprint("answer ", world.Asked(req))), nil
	}
	return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"for":%q}`, last.Content))), nil
}

// begin starts x, waits until the model call of clerk waits at the gate, and returns the ID of clerk.
func (o *office) begin() (clerk string) {
	o.Must("run", "--detach", "--chat", "-a", "x", "--id", o.id, "ask the clerk")
	o.gate.Wait(o.T)
	return o.Show(o.id).Children[0].ID
}

// waits returns when x has the status "waiting" and the given number of messages, and returns these messages.
func (o *office) waits(messages int) []string {
	o.T.Helper()
	defer func() {
		if o.T.Failed() {
			s := o.Show(o.id)
			o.T.Log(s.Status, "\n", strings.Join(s.Lines(), "\n"))
		}
	}()
	o.Eventually(fmt.Sprint("it waits with ", messages, " messages"), func() bool {
		s, err := o.Client.Show(o.T.Context(), o.id)
		return err == nil && s.Status == reagent.Waiting && len(s.Messages) == messages
	})
	return o.Show(o.id).Lines()
}

// rests waits until x has the status "waiting", and returns its messages.
func (o *office) rests() []string {
	o.T.Helper()
	var lines []string
	o.Eventually("it rests", func() bool {
		s, err := o.Client.Show(o.T.Context(), o.id)
		if err != nil || s.Status != reagent.Waiting {
			return false
		}
		lines = o.Show(o.id).Lines()
		return true
	})
	return lines
}

// same resets x to a workflow task of a run, counted from 1. It asserts that x gets the messages want again, and that
// no model request or payment is made. If the parameter run is empty, it is the newest run.
func (o *office) same(run string, task int, want []string) {
	o.T.Helper()
	requests, payments := o.Requests(), o.payments()
	o.Reset(o.id, run, task)
	require.Equal(o.T, want, o.waits(len(want)))
	require.Equal(o.T, requests, o.Requests())
	o.paidOnce(payments)
}

func (o *office) payments() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.paid)
}

// paidOnce asserts that the given number of payments was made, each of them once.
func (o *office) paidOnce(payments int) {
	o.T.Helper()
	require.Equal(o.T, payments, o.payments())
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, n := range o.paid {
		require.Equal(o.T, 1, n, "payment %s", key)
	}
}

// removed waits until an agent has ended, deletes it, and waits until Temporal has deleted it.
func (o *office) removed(id string) {
	o.Eventually("it has ended", func() bool { return o.Show(id).Status != "running" })
	require.NoError(o.T, o.Client.Remove(o.T.Context(), "default", id))
	o.Eventually("it is gone", func() bool {
		_, err := o.Temporal.DescribeWorkflowExecution(o.T.Context(), id, "")
		return errors.As(err, new(*serviceerror.NotFound))
	})
}

// After a reset, a call for a sub-agent has the same outcome as before, even if the call was interrupted or the
// sub-agent was terminated. So the agent makes the same requests again, and pays nothing twice.
func TestResetTakesTheSamePathPastASubAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budgetMS int64
		path     func(o *office, clerk string) (want []string)
	}{
		"it gave no answer in time and works": {1000, func(o *office, _ string) []string { return o.waits(6) }},
		"it answered late": {1000, func(o *office, _ string) []string {
			o.waits(6)
			o.OpenGate()
			return o.waits(10)
		}},
		"it gave no answer in time and was asked for again": {1500, func(o *office, _ string) []string {
			o.stubborn.Store(true)
			o.Eventually("it is asked for again", func() bool { return len(o.Show(o.id).Messages) == 4 })
			o.OpenGate()
			return o.rests()
		}},
		"it was terminated, and resumed later": {0, func(o *office, clerk string) []string {
			terminateRun(o.World, clerk)
			o.waits(6)
			o.OpenGate() // its call of the model may still be on its way
			o.Must("resume", "--detach", clerk)
			return o.waits(10)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil, c.budgetMS)
			o.samePath(c.path(o, o.begin()))
		})
	}
}

// samePath resets x to three different places. It asserts each time that x gets the messages want again, and does
// nothing twice.
func (o *office) samePath(want []string) {
	o.T.Helper()
	first := o.RunID(o.id)
	o.same("", 1, want)
	o.same("", 4, want)    // a run that began by a reset
	o.same(first, 4, want) // after the start of clerk
	o.OpenGate()
}

// After a reset, a call for a sub-agent has the same outcome as before, even if the history of the sub-agent was
// deleted. The outcome is read from the parent's own history.
func TestResetTakesTheSamePathPastASubAgentThatIsGone(t *testing.T) {
	t.Parallel()
	own := world.StartDeletingServer(t)
	for name, c := range map[string]struct {
		budgetMS int64
		path     func(o *office) (want []string)
	}{
		"it answered": {0, func(o *office) []string {
			o.OpenGate()
			return o.waits(6)
		}},
		"it answered late": {1000, func(o *office) []string {
			o.waits(6)
			o.OpenGate()
			return o.waits(10)
		}},
		"it gave no answer in time and was asked for again": {1500, func(o *office) []string {
			o.stubborn.Store(true)
			o.Eventually("it is asked for again", func() bool { return len(o.Show(o.id).Messages) == 4 })
			o.OpenGate()
			return o.rests()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, own, c.budgetMS)
			clerk := o.begin()
			want := c.path(o)
			o.removed(clerk)
			o.samePath(want)
		})
	}
	t.Run("it ended while its parent did not run", func(t *testing.T) {
		o := newOffice(t, own, 0)
		clerk := o.begin()
		terminateRun(o.World, o.id)
		o.OpenGate()
		o.removed(clerk)
		o.Must("resume", "--detach", o.id)
		require.Contains(t, o.waits(6)[2], "error: the agent clerk ended without an answer: it is gone")
		o.paidOnce(2)
	})
}

// If a sub-agent is terminated and resumed at once, its parent is not told of the termination, and gets the answer.
func TestSubAgentIsResumedBeforeItsParentIsTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil, 0)
	clerk := o.begin()
	o.stop() // so that x is not told before clerk is resumed
	terminateRun(o.World, clerk)
	o.Must("resume", "--detach", clerk)
	o.serve()
	require.Equal(t, "tool: counted", o.waits(6)[2])
	o.paidOnce(2)
}

// A sub-agent may be resumed after its parent was told that it was terminated. Its answer then reaches the parent once,
// as a message, even if the parent has continued in another run.
func TestAnswerOfAResumedSubAgentReachesItsParent(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(o *office){
		"the same run":     func(*office) {},
		"continued as new": func(o *office) { o.Roll(o.id) },
		"resumed": func(o *office) {
			terminateRun(o.World, o.id)
			o.Must("resume", "--detach", o.id)
		},
		"reset": func(o *office) { o.Reset(o.id, "", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil, 0)
			clerk := o.begin()
			terminateRun(o.World, clerk)
			told := o.waits(6)
			require.Equal(t, "tool: error: the agent clerk ended without an answer: it was terminated", told[2])
			meanwhile(o)
			require.Equal(t, told, o.waits(6))
			o.OpenGate() // its call of the model may still be on its way
			o.Must("resume", "--detach", clerk)
			lines := o.waits(10)
			require.Equal(t, told, lines[:6])
			require.Equal(t, "user: The call 1 of clerk, which had no result, has its result now:\n\ncounted", lines[6])
			o.paidOnce(3)
			s, err := o.Client.Describe(t.Context(), o.id)
			require.NoError(t, err)
			require.Equal(t, 1, s.Usage.Repaired)
		})
	}
}

// If a parent continues in a new run, the time budget of its call for a sub-agent does not begin again.
func TestBudgetOfASubAgentOutlivesARun(t *testing.T) {
	t.Parallel()
	const budget = 30 * time.Minute // less than the time limit of the turn, which needs no second timer
	o := newOffice(t, nil, budget.Milliseconds())
	clerk := o.begin()
	left := budget
	for range 2 {
		o.Roll(o.id)
		attached(o.World, o.id, clerk)
		now := o.budgetTimer(o.id)
		require.Less(t, now, left)
		require.Greater(t, now, budget-10*time.Minute)
		left = now
	}
	o.OpenGate()
	o.waits(6)
}

// budgetTimer returns the duration of the first timer that the newest run of an agent started for the time budget of a
// sub-agent.
func (o *office) budgetTimer(id string) time.Duration {
	events := o.Temporal.GetWorkflowHistory(o.T.Context(), id, o.RunID(id), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(o.T, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_TIMER_STARTED && strings.Contains(string(event.GetUserMetadata().GetSummary().GetData()), "budget of ") {
			return event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration()
		}
	}
	require.FailNow(o.T, "no timer")
	return 0
}

// An agent that was never reset or resumed does not search earlier runs for results of calls.
func TestOrdinaryRunRecallsNoCalls(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil, 0)
	o.begin()
	o.OpenGate()
	o.waits(6)
	events := o.Temporal.GetWorkflowHistory(t.Context(), o.id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	kinds := map[string]int{}
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		kinds[event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()]++
		if event.GetEventType() == enumspb.EVENT_TYPE_MARKER_RECORDED {
			kinds["marker"]++
		}
	}
	require.Zero(t, kinds[protocol.FindCall])
}
