package attempt

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// returnsAtOnce limits the calls that [Worker.ReturnCalls] returns at the same time, because each call needs two requests.
const returnsAtOnce = 16

// ReturnCalls returns the calls of a lost worker to Temporal, which gives them to other workers. It leaves out attempts that have
// ended. If it runs twice, the second run changes nothing.
func (w *Worker) ReturnCalls(ctx context.Context, in protocol.HeldCalls) error {
	namespace := activity.GetInfo(ctx).Namespace
	var all errgroup.Group
	all.SetLimit(returnsAtOnce)
	for _, call := range in.Calls {
		all.Go(func() error {
			if err := w.returnCall(ctx, namespace, call); err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
				return fmt.Errorf("return the call %s of agent %s: %w", call.ActivityID, call.WorkflowID, err)
			}
			return nil
		})
	}
	return all.Wait()
}

func (w *Worker) returnCall(ctx context.Context, namespace string, call protocol.HeldCall) error {
	found, err := w.temporal.DescribeWorkflowExecution(ctx, call.WorkflowID, call.RunID)
	if err != nil {
		return err
	}
	p := pending(found, call.ActivityID)
	if p.GetAttempt() != call.Attempt || p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || p.GetLastStartedTime().AsTime().UnixMilli() != call.StartedMS {
		return nil
	}
	lost := temporal.NewApplicationError(protocol.TimeoutText(enumspb.TIMEOUT_TYPE_HEARTBEAT), protocol.LeaseLost)
	return w.temporal.CompleteActivityByID(ctx, namespace, call.WorkflowID, call.RunID, call.ActivityID, nil, lost)
}
