package activities

import (
	"context"
	"time"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// LeaseOptions describe the lease of a worker: see [protocol.LeaseWorkflow]. Both fields are required. The workflows of such a worker must
// give calls a longer heartbeat timeout: `workflows.LeaseBackstop`.
type LeaseOptions struct {
	// TaskQueue is the task queue of the agents. Required.
	TaskQueue string
	// HeartbeatTimeout is the time without a heartbeat after which another worker takes over the calls of this worker. Required.
	HeartbeatTimeout time.Duration
}

// LeaseQueue returns the task queue on which this worker holds its lease: see [Activities.HoldLease]. It returns "" if the worker
// has no lease.
func (a *Activities) LeaseQueue() string { return a.attempts.LeaseQueue() }

// RunLease takes leases for the calls of this worker until the context ends. It must be called once if the options of the worker
// have a lease, while a worker of the task queue [Activities.LeaseQueue] runs [Activities.HoldLease]. If Temporal cannot be
// reached, RunLease tries again after a second. The calls then have only their own heartbeats.
func (a *Activities) RunLease(ctx context.Context) { a.attempts.RunLease(ctx) }

// HoldLease holds the lease of this worker. It returns when no call is in flight at the time of a heartbeat, when Temporal has ended the
// lease, or when the worker stops. If the worker no longer wants this lease, HoldLease returns at once.
func (a *Activities) HoldLease(ctx context.Context) error { return a.attempts.HoldLease(ctx) }

// ReturnCalls returns the calls of a lost worker to Temporal, which gives them to other workers. It leaves out attempts that have
// ended. If it runs twice, the second run changes nothing.
func (a *Activities) ReturnCalls(ctx context.Context, in protocol.HeldCalls) error {
	return a.attempts.ReturnCalls(ctx, in)
}
