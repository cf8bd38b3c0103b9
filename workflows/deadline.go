package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Each turn has a time limit. A model call or a tool call has the time that is left as its schedule-to-close timeout, so Temporal
// ends the call at the deadline of the turn. A timer runs only while the agent needs other work, such as a sub-agent, because
// Temporal Cloud bills each timer.

// timeLeft returns the schedule-to-close timeout of an activity that makes a model call or a tool call. This is the time until
// the deadline of the running turn. It returns 0, which means no timeout, if there is no such deadline now: see [agent.State.Deadline].
func (d *driver) timeLeft() time.Duration {
	if d.state.Deadline() == 0 {
		return 0
	}
	return d.until(d.state.Deadline())
}

// until returns the time until the deadline, at least a millisecond. The deadline is in Unix milliseconds.
func (d *driver) until(deadline int64) time.Duration {
	return time.Duration(max(deadline-d.now(), 1)) * time.Millisecond
}

// endTurnInTime ends the running turn if its deadline has passed. The deadline may pass while no worker runs.
func (d *driver) endTurnInTime() {
	d.rewind()
	if deadline := d.state.Deadline(); deadline != 0 && d.now() >= deadline {
		d.apply(agent.TimeReached{Turn: d.state.Turn.Number, Time: d.now()})
	}
}

// applyEnd applies the event with which a model call or a tool call has ended. `err` is the error of its activity; nil if there is
// none. `turn` is the turn of the agent when the activity was started.
//
// If the activity ended because of the time limit of the turn, applyEnd ends the turn if the limit is over on the workflow clock. After
// that, one of these rules holds:
//   - If a reset copied the activity, and the time limit has begun again since, the loop starts another activity for the call. This
//     activity searches the earlier runs, so a tool that must not run twice does not.
//   - If Temporal ended the activity, and the turn has not ended, applyEnd ends the turn.
//   - In all other cases, it applies the event.
func (d *driver) applyEnd(turn agent.Turn, e agent.Event, err error) {
	refused, timeout := outOfTime(err)
	if !refused && !timeout {
		d.apply(e)
		return
	}
	d.endTurnInTime()
	switch {
	case turn.Began < d.restarted:
		d.version++
	case timeout && d.state.Deadline() != 0:
		d.apply(agent.TimeReached{Turn: turn.Number, Time: d.now()})
	default:
		d.apply(e)
	}
}

// outOfTime reports whether an activity ended because of its schedule-to-close timeout. `refused` says that a worker refused
// the activity: see [protocol.OutOfTime]. `timeout` says that Temporal ended it. Temporal also ends an activity whose next
// attempt would begin after the timeout. The error is then that of the last attempt.
func outOfTime(err error) (refused, timeout bool) {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == protocol.OutOfTime {
		return true, false
	}
	if ended, ok := errors.AsType[*temporal.ActivityError](err); ok && ended.RetryState() == enumspb.RETRY_STATE_TIMEOUT {
		return false, true
	}
	over, ok := errors.AsType[*temporal.TimeoutError](err)
	return false, ok && over.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE
}

// endsByItself reports whether all work of the step ends at the deadline of the turn without a timer: see [driver.timeLeft].
func endsByItself(step agent.Step) bool {
	switch step := step.(type) {
	case agent.CallModel, agent.Compact:
		return true
	case agent.RunTools:
		return !slices.ContainsFunc(step.Calls, func(c agent.Call) bool { return c.Child != "" })
	}
	return false
}

// timer is a timer of the driver. The zero timer is not running.
type timer struct {
	// deadline is in Unix milliseconds; 0 means that no timer runs.
	deadline int64
	cancel   workflow.CancelFunc
}

func (t *timer) stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.deadline, t.cancel = 0, nil
}

// watch keeps the timer t running until the deadline, in Unix milliseconds, and then calls `fire`. If t has another deadline, watch
// stops it first. For the deadline 0, it only stops t.
func (d *driver) watch(t *timer, deadline int64, summary string, fire func()) {
	if deadline == t.deadline {
		return
	}
	t.stop()
	if deadline == 0 {
		return
	}
	ctx, cancel := workflow.WithCancel(d.root)
	t.deadline, t.cancel = deadline, cancel
	left := d.until(deadline)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.NewTimerWithOptions(ctx, left, workflow.TimerOptions{Summary: summary}).Get(ctx, nil) == nil {
			fire()
		}
	})
}

// watchDeadline keeps a timer running for the time limit of the running turn, if the work of the given step needs one.
func (d *driver) watchDeadline(step agent.Step) {
	deadline := d.state.Deadline()
	if _, searches := step.(agent.FindMessages); searches || endsByItself(step) {
		deadline = 0 // a search is short
	}
	d.watch(&d.turnTimer, deadline, fmt.Sprintf("time limit of turn %d", d.state.Turn.Number), func() {
		d.endTurnInTime() // if a reset copied the timer, the deadline may be later now
		d.turnTimer.deadline = 0
		d.version++
	})
}

// endWaitsInTime ends the waits for somebody outside that have reached their limits: see [agent.State.WaitDeadline].
func (d *driver) endWaitsInTime() {
	if deadline := d.state.WaitDeadline(); deadline != 0 && d.now() >= deadline {
		d.apply(agent.WaitEnded{Time: d.now()})
	}
}

// watchWaits keeps a timer running for the earliest limit of the calls that wait for somebody outside.
func (d *driver) watchWaits() {
	deadline := d.state.WaitDeadline()
	d.watch(&d.waitTimer, deadline, d.waitLimit(deadline), func() {
		d.waitTimer.deadline = 0
		d.version++ // the loop ends the waits
	})
}

// waitLimit describes the calls whose wait for somebody outside ends at the deadline, for the Web UI. It returns "" for a deadline of 0.
func (d *driver) waitLimit(deadline int64) string {
	if deadline == 0 {
		return ""
	}
	var calls []agent.Call
	for _, c := range d.state.Calls {
		if c.Waits() && c.Wait.Until == deadline {
			calls = append(calls, c)
		}
	}
	return oneLine("time limit · " + d.waitSummary(calls))
}
