package attempt

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// leases is a Temporal client that answers the heartbeats of a lease, and records the calls that they name.
type leases struct {
	client.Client
	answer error
	named  []protocol.HeldCalls
}

func (c *leases) RecordActivityHeartbeat(_ context.Context, _ []byte, details ...any) error {
	c.named = append(c.named, details[0].(protocol.HeldCalls))
	return c.answer
}

// heldLease returns a lease that Temporal considered held when it began, and an attempt at a call that no heartbeat has named.
func heldLease(c *leases) (*lease, *Attempt) {
	l := newLease(c, "q", 3*time.Second, slog.New(slog.DiscardHandler))
	l.id = "lease"
	l.hold(activity.Info{WorkflowExecution: workflow.Execution{ID: "lease"}, TaskToken: []byte("token")})
	return l, leasedCall(l, "tool-1")
}

func leasedCall(l *lease, id string) *Attempt {
	a := &Attempt{info: activity.Info{ActivityID: id, Attempt: 1}, over: make(chan struct{})}
	l.add(a)
	return a
}

// A call that a heartbeat has named is safe only while Temporal has accepted a heartbeat of the lease recently. If the lease has ended, the
// attempt is lost, also for a call of [lease.confirm] that comes afterwards.
func TestNamedCallIsSafeOnlyUnderALivingLease(t *testing.T) {
	c := new(leases)
	l, a := heldLease(c)
	require.NoError(t, l.beat(t.Context()))
	require.NoError(t, l.confirm(t.Context(), a))
	require.Len(t, c.named, 1)

	l.contact = time.Now().Add(-2 * time.Second) // as after a suspension of the process
	require.NoError(t, l.confirm(t.Context(), a))
	require.Len(t, c.named, 2, "the lease is confirmed by a heartbeat")

	l.contact, c.answer = time.Now().Add(-time.Minute), serviceerror.NewNotFound("the lease has ended")
	require.Error(t, l.confirm(t.Context(), a))
	require.Equal(t, lost, a.ended())
	require.Error(t, l.confirm(t.Context(), a), "another worker may have the call")
}

// If Temporal has ended the lease, only the calls are lost that an accepted heartbeat has named. Nobody returns the others.
func TestCallThatNoHeartbeatHasNamedIsNotLost(t *testing.T) {
	c := new(leases)
	l, named := heldLease(c)
	require.NoError(t, l.beat(t.Context()))
	fresh := leasedCall(l, "tool-2")
	c.answer = serviceerror.NewNotFound("the lease has ended")
	require.Error(t, l.beat(t.Context()))
	require.Equal(t, lost, named.ended())
	require.Equal(t, open, fresh.ended())
	require.NoError(t, l.confirm(t.Context(), fresh))
}

// A worker holds one lease at a time, and only the one for which it has asked. A lease without heartbeats would return calls that are alive.
func TestWorkerHoldsOneLease(t *testing.T) {
	l, _ := heldLease(new(leases))
	l.id = "another"
	require.False(t, l.hold(activity.Info{WorkflowExecution: workflow.Execution{ID: "another"}}), "it holds the first one")
	l.release(false)
	require.False(t, l.hold(activity.Info{WorkflowExecution: workflow.Execution{ID: "lease"}}), "it has asked for another one")
	require.True(t, l.hold(activity.Info{WorkflowExecution: workflow.Execution{ID: "another"}, TaskToken: []byte("token")}))
}
