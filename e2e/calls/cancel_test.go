package calls_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// Temporal says the same of a cancelled activity that no worker has ever begun, and of one whose earlier attempt has done its work and
// that waits for its next attempt. So nobody may conclude from a cancel that a tool was not run. If this test fails, Temporal tells more than
// it did, and an interrupted call without a worker could be told as not run.
func TestCancelSaysNothingOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	w := world.New(t, nil, nil, "")
	queue := t.Name()
	here := worker.New(w.Temporal, queue, worker.Options{})
	here.RegisterWorkflowWithOptions(func(ctx workflow.Context, on, name string) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: on, StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Second, WaitForCancellation: true,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Hour, BackoffCoefficient: 1, MaximumInterval: time.Hour},
		})
		return workflow.ExecuteActivity(ctx, name).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "call"})
	here.RegisterActivityWithOptions(func(context.Context) error {
		return errors.New("it took effect, and failed then")
	}, activity.RegisterOptions{Name: "failed"})
	here.RegisterActivityWithOptions(func(ctx context.Context) error {
		activity.RecordHeartbeat(ctx, "it took effect")
		<-ctx.Done() // the timeout of the heartbeats ends the attempt
		return ctx.Err()
	}, activity.RegisterOptions{Name: "lost"})
	require.NoError(t, here.Start())
	t.Cleanup(here.Stop)

	// cancelled returns the last events of an activity that was cancelled when it had ended the given number of attempts.
	cancelled := func(on, name string, attempts int32) (events []enumspb.EventType, end *historypb.ActivityTaskCanceledEventAttributes) {
		run, err := w.Temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: t.Name() + name, TaskQueue: queue}, "call", on, name)
		require.NoError(t, err)
		w.Eventually(name+" waits for a worker", func() bool {
			d, err := w.Temporal.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
			require.NoError(t, err)
			p := d.GetPendingActivities()
			return len(p) == 1 && p[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && p[0].GetAttempt() == attempts+1
		})
		require.NoError(t, w.Temporal.CancelWorkflow(t.Context(), run.GetID(), ""))
		require.Error(t, run.Get(t.Context(), nil))
		for all := w.Temporal.GetWorkflowHistory(t.Context(), run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
			e, err := all.Next()
			require.NoError(t, err)
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
				events = append(events, e.GetEventType())
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
				events = append(events, e.GetEventType())
				end = e.GetActivityTaskCanceledEventAttributes()
			}
		}
		return events, end
	}
	never, neverEnd := cancelled(queue+"-of-nobody", "never", 0)
	require.NotContains(t, never, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED)
	for _, name := range []string{"failed", "lost"} {
		after, afterEnd := cancelled(queue, name, 1)
		require.Equal(t, never, after, name)
		require.Equal(t, neverEnd.GetDetails().String(), afterEnd.GetDetails().String(), name)
		require.Equal(t, neverEnd.GetStartedEventId(), afterEnd.GetStartedEventId(), name)
	}
}
