package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// LeaseBackstop is the heartbeat timeout of calls whose worker has a lease. If the worker is lost before the lease has named a new
	// call, Temporal gives this call to another worker after this time.
	LeaseBackstop = 30 * time.Second
	// holdTimeout is the start-to-close timeout of the activity that holds a lease. A worker needs a new lease after this time.
	holdTimeout = 365 * 24 * time.Hour
	// returnTime is the time for each call in the start-to-close timeout of the activity that returns calls.
	returnTime = 10 * time.Millisecond
	// maxReturns is the largest number of attempts at this activity. Temporal gives the calls that it could not return to another
	// worker after [LeaseBackstop].
	maxReturns = 10
	// takeTimeout is the time in which a worker has to take the lease for which it has asked.
	takeTimeout = time.Minute
)

// Lease is the workflow function of a lease: see [protocol.LeaseWorkflow]. It ends when the worker no longer needs the lease. If the
// worker is lost, Lease returns the worker's calls to Temporal first.
func (w *Workflows) Lease(ctx workflow.Context, in protocol.LeaseInput) error {
	hold := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "hold", Summary: oneLine("held by " + in.TaskQueue), TaskQueue: in.TaskQueue,
		ScheduleToStartTimeout: takeTimeout, StartToCloseTimeout: holdTimeout,
		HeartbeatTimeout: time.Duration(in.HeartbeatTimeoutMS) * time.Millisecond,
		RetryPolicy:      &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	calls := lostCalls(workflow.ExecuteActivity(hold, protocol.HoldLease).Get(ctx, nil))
	if len(calls.Calls) == 0 {
		return nil
	}
	returns := backoff()
	returns.MaximumAttempts = maxReturns
	back := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "return", Summary: oneLine(plural.Of(len(calls.Calls), "call") + " of " + in.TaskQueue),
		StartToCloseTimeout: lookTimeout + time.Duration(len(calls.Calls))*returnTime, RetryPolicy: returns,
	})
	return workflow.ExecuteActivity(back, protocol.ReturnCalls, calls).Get(ctx, nil)
}

// lostCalls returns the calls in the last heartbeat of a lease whose heartbeats have stopped. `err` is the error of the activity
// that sends the heartbeats. For any other end of this activity, lostCalls returns no calls.
func lostCalls(err error) (calls protocol.HeldCalls) {
	if lost, ok := errors.AsType[*temporal.TimeoutError](err); ok && lost.HasLastHeartbeatDetails() {
		_ = lost.LastHeartbeatDetails(&calls) // calls that cannot be decoded wait for their own heartbeat timeout
	}
	return calls
}
