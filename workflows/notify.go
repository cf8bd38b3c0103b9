package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// The state has the notifications that are to be delivered: see [agent.State.Notifications]. The driver delivers each of them by an
// activity. Nothing waits for these activities before the agent ends. A continue-as-new does not wait for them either: the next run
// has the same notifications in its state, and starts the activities again.

const (
	// notifyTimeout limits all attempts at a notification together.
	notifyTimeout = 10 * time.Minute
	// notifyEndTimeout limits all attempts at a notification about the end of the agent together. The workflow waits for these, because
	// Temporal drops the open activities of a workflow that closes.
	notifyEndTimeout = time.Minute
	// notifyAttemptTimeout is the start-to-close timeout of one attempt. Only this timeout reveals that the worker crashed, because the
	// activity sends no heartbeats.
	notifyAttemptTimeout = protocol.MaxHookTimeout + 10*time.Second
)

// notify starts the activities for the notifications that are due and not in flight. It does nothing for an agent whose definition has
// no hooks, so it adds nothing to the histories of such agents.
func (d *driver) notify() {
	// The next step does not depend on notifications, so the loop need not run again.
	d.state.Apply(agent.NotificationsDue{Time: d.now()})
	for _, n := range d.state.Notifications {
		d.deliver(n, notifyTimeout)
	}
}

// notifyEnd notifies the hooks of the end of the agent, and waits until the activities of these notifications have ended, delivered
// or not. A hook that does not answer delays the end by at most [notifyEndTimeout].
func (d *driver) notifyEnd(o agent.Outcome) {
	d.state.Apply(agent.NotificationsDue{Outcome: &o, Time: d.now()})
	ends := func(n agent.Notification) bool { return n.On == agent.OnEnded }
	for _, n := range d.state.Notifications {
		if ends(n) {
			d.deliver(n, notifyEndTimeout)
		}
	}
	_ = workflow.Await(d.root, func() bool { return !slices.ContainsFunc(d.state.Notifications, ends) }) // d.root is never cancelled
}

// deliver starts the activity that delivers a notification, unless it is in flight. All attempts together take at most the time
// `limit`.
func (d *driver) deliver(n agent.Notification, limit time.Duration) {
	d.startActivity(n.Key, func(ctx workflow.Context, f *operation) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: string(n.Key), Summary: oneLine(fmt.Sprintf("notify %s · %s", n.Hook, n.On)), Priority: d.priority(),
			ScheduleToCloseTimeout: limit, StartToCloseTimeout: notifyAttemptTimeout,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
		})
		f.result = workflow.ExecuteActivity(ctx, protocol.Notify, protocol.NotifyInput{
			Notification: n, Agent: d.state.Agent, Parent: d.start.Parent, Traceparent: d.traceParent(),
		})
		f.ended = func(ctx workflow.Context) {
			if err := f.result.Get(ctx, nil); err != nil {
				d.log().Warn("a notification was not delivered", "hook", n.Hook, logs.Key, n.Key, "error", err)
			}
			d.apply(agent.NotificationEnded{Key: n.Key}) // the loop has to run again: it may continue as new now
		}
	})
}
