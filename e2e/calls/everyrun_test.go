package calls_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// payments is a world with an agent whose calls of the tool pay need an approval, and must not run twice.
type payments struct {
	*world.World
	id    string
	reply map[int]*world.Gate // holds replies of the model, by their number from 0
	mu    sync.Mutex
	paid  []string
}

// newPayments starts an agent. Each reply of its model makes the calls with the given numbers. The replies with the numbers in `held` wait
// until their gate is open.
func newPayments(t *testing.T, settings string, replies [][]int, held ...int) *payments {
	p := &payments{id: strings.ReplaceAll(t.Name(), "/", "-"), reply: map[int]*world.Gate{}}
	for _, n := range held {
		p.reply[n] = world.NewGate()
	}
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(_ context.Context, e world.Effect) (string, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paid = append(p.paid, e.Arguments)
		return "paid " + e.Arguments, nil
	})
	p.World = world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		n := world.Asked(req)
		if gate := p.reply[n]; gate != nil {
			if err := gate.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		if n >= len(replies) {
			return llmtest.Say("done"), nil
		}
		var all []llm.ToolCall
		for _, number := range replies[n] {
			all = append(all, llmtest.ToolCall(fmt.Sprint(n, "-", number), "pay", fmt.Sprintf(`{"n":%d}`, number)))
		}
		return llmtest.Call(all...), nil
	}, tools, "    tools: [far.*]\n"+settings)
	p.Worker()
	p.Must("run", "--detach", "--chat", "--id", p.id, "pay")
	return p
}

const asksForPayments = "    approval: {far.pay: always}\n"

// waits returns when the calls with these numbers, and no others, wait for a decision. The results are their names for the command line.
func (p *payments) waits(numbers ...int) (calls []string) {
	var want []string
	for _, n := range numbers {
		want = append(want, fmt.Sprintf(`{"n":%d}`, n))
	}
	p.Eventually(fmt.Sprint("these calls wait: ", want), func() bool {
		var got []string
		calls = nil
		for _, w := range inboxOf(p.World, p.id) {
			calls, got = append(calls, w.Handle), append(got, w.Arguments)
		}
		return slices.Equal(got, want)
	})
	return calls
}

// resume terminates the agent and resumes it. It returns the ID of the run that it terminated.
func (p *payments) resume() string {
	run := p.RunID(p.id)
	p.TerminateAgent(p.id)
	p.Must("resume", "--detach", p.id)
	return run
}

// holds resets each of the runs to each of its tasks, the last one first. After each reset, the agent must reach the transcript `want`, nobody is
// asked about a call meanwhile, and no tool runs again.
func (p *payments) holds(want []string, paid []string, runs ...string) {
	p.T.Helper()
	for _, run := range runs {
		for task := p.TaskCount(p.id, run); task > 0; task-- {
			p.Reset(p.id, run, task)
			require.Equal(p.T, want, p.Transcript(p.id, len(want)), "reset to task %d", task)
			require.Empty(p.T, inboxOf(p.World, p.id))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(p.T, paid, p.paid)
}

// What a person decided in any run of an agent holds in every run, whichever run is reset to whichever task.
func TestDecisionsHoldInEveryRun(t *testing.T) {
	t.Run("revoked and denied after a resume", func(t *testing.T) {
		p := newPayments(t, asksForPayments, [][]int{{1}, {2}}, 1)
		first := p.waits(1)[0]
		p.Must("approve", p.id, first, "--for-agent")
		p.reply[1].Wait(t)
		run := p.resume()
		p.Must("revoke", p.id, first)
		close(p.reply[1].Open)
		p.Must("deny", p.id, p.waits(2)[0], "--reason", "too much")
		want := p.Transcript(p.id, 6)
		require.Contains(t, want[4], "too much")
		p.holds(want, []string{`{"n":1}`}, run, p.RunID(p.id))
		require.Contains(t, p.Must("permissions", p.id), "no permissions")
	})
	t.Run("another call of the reply denied after a resume", func(t *testing.T) {
		p := newPayments(t, asksForPayments, [][]int{{1, 2}})
		permit(p.World, p.id, p.waits(1, 2)[0])
		p.waits(2)
		run := p.resume()
		p.Must("deny", p.id, p.waits(2)[0])
		p.holds(p.Transcript(p.id, 5), []string{`{"n":1}`}, run, p.RunID(p.id))
	})
	t.Run("a permission is for later replies", func(t *testing.T) {
		p := newPayments(t, asksForPayments, [][]int{{1, 2}})
		permit(p.World, p.id, p.waits(1, 2)[0])
		p.waits(2)
		run := p.RunID(p.id)
		for task := p.TaskCount(p.id, run); task > 0; task-- {
			p.Reset(p.id, run, task)
			p.waits(2)
		}
		p.Must("deny", p.id, p.waits(2)[0])
		p.holds(p.Transcript(p.id, 5), []string{`{"n":1}`}, run)
	})
	t.Run("denied by the time limit", func(t *testing.T) {
		p := newPayments(t, asksForPayments+"    approval_timeout: 4s\n", [][]int{{1, 2}})
		permit(p.World, p.id, p.waits(1, 2)[0])
		p.Eventually("the wait has ended", func() bool {
			read, err := p.Client.ShowRecorded(t.Context(), p.id)
			return err == nil && len(read.Messages) == 5
		})
		want := p.Transcript(p.id, 5)
		require.Contains(t, want[3], "nobody decided")
		p.holds(want, []string{`{"n":1}`}, p.RunID(p.id))
	})
	t.Run("revoked when the call had run", func(t *testing.T) {
		p := newPayments(t, asksForPayments, [][]int{{1}, {2}})
		first := p.waits(1)[0]
		p.Must("approve", p.id, first, "--for-agent")
		want := p.Transcript(p.id, 6)
		run := p.RunID(p.id)
		p.Must("revoke", p.id, first)
		p.holds(want, []string{`{"n":1}`, `{"n":2}`}, run)
		require.Contains(t, p.Must("permissions", p.id), "no permissions")
	})
}

// What has a result is recalled before the model is told anything else: a run that is reset and cancelled at once does not say of a call that
// its outcome is unknown.
func TestCancelHidesNoResult(t *testing.T) {
	p := newPayments(t, "", [][]int{{1}, {2}})
	want := p.Transcript(p.id, 6)
	run := p.RunID(p.id)
	for task := p.TaskCount(p.id, run); task > 0; task-- {
		again := p.Reset(p.id, run, task)
		require.NoError(t, p.Temporal.CancelWorkflow(t.Context(), p.id, again))
		p.Ends(p.id, "cancelled")
		p.Must("resume", "--detach", p.id)
		require.Equal(t, want, p.Transcript(p.id, 6), "reset to task %d", task)
	}
	require.Equal(t, []string{`{"n":1}`, `{"n":2}`}, p.paid)
	p.NothingTwice()
}

// interruptedPayment returns a world with an agent whose first call of the tool pay waits at a gate. The call ends when the gate is open, or
// when the context ends that the function `during` makes of the context of the call. The model makes two such calls, and then says "done".
func interruptedPayment(t *testing.T, during func(context.Context) context.Context) (w *world.World, paying *world.Gate) {
	paying = world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) {
		return "paid " + e.Arguments, paying.Pass(during(ctx))
	})
	w = world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := world.Asked(req); n < 2 {
			return llmtest.Call(llmtest.ToolCall(fmt.Sprint(n), "pay", fmt.Sprintf(`{"n":%d}`, n))), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    tools: [far.*]\n")
	w.Worker()
	w.Must("run", "--detach", "--chat", "--id", t.Name(), "pay")
	paying.Wait(t)
	return w, paying
}

// goesOnInEveryRun lets an interrupted agent go on. Then it resets the run to each of its tasks, and requires the same transcript.
func goesOnInEveryRun(t *testing.T, w *world.World, run string) {
	id := t.Name()
	w.Must("send", "--detach", id, "pay another one")
	want := w.Transcript(id, 7)
	for task := w.TaskCount(id, run); task > 0; task-- {
		w.Reset(id, run, task)
		require.Equal(t, want, w.Transcript(id, 7), "reset to task %d", task)
	}
	w.NothingTwice()
}

// An interrupt after which the model went on holds, too. If a run is reset to a task before it, the model is told the same of the calls that the
// interrupt had stopped, so it makes no call again.
func TestInterruptHoldsInEveryRun(t *testing.T) {
	w, _ := interruptedPayment(t, func(ctx context.Context) context.Context { return ctx })
	run := w.RunID(t.Name())
	w.Must("interrupt", t.Name())
	goesOnInEveryRun(t, w, run)
}

// A tool ends its work although a person has interrupted the turn. The history has its result, and the model was told that the outcome is
// unknown. If the run is reset to any task, the model is told the same, so it makes no call again.
func TestInterruptHoldsAlsoIfTheToolEnds(t *testing.T) {
	w, paying := interruptedPayment(t, context.WithoutCancel)
	id := t.Name()
	run := w.RunID(id)
	require.NoError(t, w.Client.Interrupt(t.Context(), id))
	close(paying.Open) // before the worker learns of the interrupt
	w.Eventually("the tool ends", func() bool {
		var last enumspb.EventType
		for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run}) {
			require.NoError(t, err)
			if event.GetActivityTaskCompletedEventAttributes() != nil || event.GetActivityTaskCancelRequestedEventAttributes() != nil {
				last = event.GetEventType()
			}
		}
		return last == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
	})
	goesOnInEveryRun(t, w, run)
}

// A steering message holds, too. If a run is reset to a task before it, the message enters where it entered in the run that took it, so no call
// is made again.
func TestSteeringHoldsInEveryRun(t *testing.T) {
	p := newPayments(t, "", [][]int{{1}, {2}, {3}}, 1, 2)
	p.reply[1].Wait(t)
	run := p.resume()
	p.reply[1].Wait(t)
	p.Must("send", "--detach", p.id, "pay less") // a message to a busy agent is a steering message
	close(p.reply[1].Open)
	p.reply[2].Wait(t)
	close(p.reply[2].Open)
	want := p.Transcript(p.id, 9)
	require.Contains(t, want[5], "pay less")
	p.holds(want, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}, run, p.RunID(p.id))
	p.NothingTwice()
}

// An interrupt that stopped a model call holds, too. A reset to a task in which the call is in flight makes it again, and its reply may come
// before the agent knows of the interrupt. The reply then does not count.
func TestInterruptOfAReplyHoldsInEveryRun(t *testing.T) {
	first := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Messages) == 1 {
			return llmtest.Say("too late"), first.Pass(ctx)
		}
		return llmtest.Say(fmt.Sprint("done ", len(req.Messages))), nil
	}, nil, "")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "pay")
	first.Wait(t)
	run := w.RunID(id)
	w.Must("send", "--detach", id, "and mind this") // begins a task in which the call is in flight
	w.Must("interrupt", id)
	w.Must("send", "--detach", id, "pay nothing")
	want := w.Transcript(id, 4)
	// The last task is that of the end of the stopped call, which changes nothing. After a reset to it, nothing happens.
	w.Eventually("the end of the stopped call is seen", func() bool {
		stopped, seen := false, false
		for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run}) {
			require.NoError(t, err)
			stopped = stopped || event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED
			seen = stopped && event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		}
		return seen
	})
	close(first.Open)
	for task := w.TaskCount(id, run); task > 0; task-- {
		w.Reset(id, run, task)
		require.Equal(t, want, w.Transcript(id, 4), "reset to task %d", task)
	}
}
