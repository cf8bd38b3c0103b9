package recovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/presence"
)

// A task token that is made of what Temporal tells everybody is that of the worker, as far as it goes. Temporal refuses it as soon as the
// attempt has ended, so nobody fails a later attempt with it.
func TestTokenIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	begun := make(chan activity.Info, 2)
	here := worker.New(w.Temporal, w.Queue, worker.Options{})
	here.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: "call", StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond},
		})
		return workflow.ExecuteActivity(ctx, "Call").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Caller"})
	here.RegisterActivityWithOptions(func(ctx context.Context) error {
		begun <- activity.GetInfo(ctx)
		return activity.ErrResultPending
	}, activity.RegisterOptions{Name: "Call"})
	require.NoError(t, here.Start())
	t.Cleanup(here.Stop)
	run, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: t.Name(), TaskQueue: w.Queue}, "Caller")
	require.NoError(t, err)
	first := <-begun
	found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	about, err := w.Temporal.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: first.Namespace})
	require.NoError(t, err)

	const scheduled = 5 // the events before are: workflow started, task scheduled, task started, task completed
	token := presence.Token(about.GetNamespaceInfo().GetId(), &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		scheduled, found.GetPendingActivities()[0])
	theirs := fields(t, first.TaskToken)
	for field, value := range fields(t, token) {
		require.Equal(t, theirs[field], value, field)
	}
	require.Len(t, fields(t, token), 6)

	fail := func() error {
		return w.Temporal.CompleteActivity(t.Context(), token, nil, temporal.NewApplicationError("lost", "Lost"))
	}
	require.NoError(t, fail())
	require.EqualValues(t, 2, (<-begun).Attempt)
	require.ErrorAs(t, fail(), new(*serviceerror.NotFound))
	found, err = w.Temporal.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	require.EqualValues(t, 2, found.GetPendingActivities()[0].GetAttempt())
}

// fields returns the fields of an encoded protocol buffer: their numbers, and what follows these.
func fields(t *testing.T, message []byte) map[protowire.Number]string {
	t.Helper()
	all := map[protowire.Number]string{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		require.Positive(t, n)
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		require.Positive(t, size)
		all[number] = string(message[n : n+size])
		message = message[n+size:]
	}
	return all
}
