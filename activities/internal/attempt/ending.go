package attempt

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	minLookInterval = 1500 * time.Millisecond
	// looksPerSecond limits the calls of [Attempt.look] of all attempts on a worker together.
	looksPerSecond = 100
	// maxClockSkew is the largest supported difference between the clocks of a worker and of Temporal. If the difference is larger,
	// a worker may not notice that a call has reached the time limit of its turn.
	maxClockSkew = time.Minute
)

// ending says whether an activity attempt ended before its work was finished, and why.
type ending int

const (
	open ending = iota
	// lost means that Temporal has ended the attempt, but may still need the result. For example, a heartbeat came too late, or the
	// run was reset or terminated.
	lost
	// cancelled means that the workflow no longer needs the result. It cancelled the activity or has ended, or the time limit of the turn
	// is over.
	cancelled
	// stopped means that the context of the attempt has ended for another reason: the worker is stopping and the time for its running
	// activities is over, or the attempt has reached its start-to-close timeout.
	stopped
)

func (a *Attempt) finish(end ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == open {
		a.end = end
		close(a.over)
	}
}

func (a *Attempt) ended() ending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end
}

// lookInterval returns the time between two calls of [Attempt.look]. It grows with the number of attempts on the worker: see
// [looksPerSecond].
func (a *Attempt) lookInterval() time.Duration {
	return max(minLookInterval, time.Duration(a.worker.calls.Load())*time.Second/looksPerSecond)
}

// look asks Temporal whether the attempt was cancelled or lost. It describes the workflow and sends no heartbeat, because Temporal
// Cloud bills heartbeats but not descriptions. If Temporal does not answer, look does nothing.
func (a *Attempt) look(ctx context.Context) {
	run := a.info.WorkflowExecution
	found, err := a.worker.temporal.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return
	}
	switch p := pending(found, a.info.ActivityID); {
	case p == nil:
		a.finish(a.gone(found))
	case p.GetAttempt() != a.info.Attempt:
		a.finish(lost)
	case p.GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
		_ = a.record(ctx) // the answer says that the activity is cancelled
	}
}

// owned asks Temporal whether the attempt is still the current one. It returns an error if not, or if Temporal does not answer.
func (a *Attempt) owned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, minHeartbeatWait)
	defer cancel()
	asked, run := time.Now(), a.info.WorkflowExecution
	found, err := a.worker.temporal.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return err
	}
	p := pending(found, a.info.ActivityID)
	switch {
	case p == nil:
		a.finish(a.gone(found))
	case p.GetAttempt() != a.info.Attempt, p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, p.GetLastStartedTime().AsTime().UnixMilli() != a.info.StartedTime.UnixMilli():
		a.finish(lost)
	default:
		a.mu.Lock()
		a.contact = asked
		a.mu.Unlock()
		return nil
	}
	return errors.New("another worker has returned this call to Temporal, because the heartbeats of this worker had stopped")
}

func pending(run *workflowservice.DescribeWorkflowExecutionResponse, id string) *workflowpb.PendingActivityInfo {
	for _, p := range run.GetPendingActivities() {
		if p.GetActivityId() == id {
			return p
		}
	}
	return nil
}

// whyGone describes the run and returns why Temporal no longer knows the attempt: see [Attempt.gone]. If the run cannot be
// described, the reason is [lost].
func (a *Attempt) whyGone() ending {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), minHeartbeatWait)
	defer cancel()
	run := a.info.WorkflowExecution
	found, err := a.worker.temporal.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return lost
	}
	return a.gone(found)
}

// gone returns why a run no longer has the attempt. Usually the reason is [lost], because another attempt or a later run may need
// the result. In these cases the reason is [cancelled]:
//   - The run has completed or was cancelled, so nothing needs the result.
//   - The run was continued as new. It does not do that while it needs a call, so it has cancelled this one shortly before.
//   - The activity has ended shortly before its deadline. It has reached the time limit of the turn, and the clock of this worker
//     is behind.
func (a *Attempt) gone(run *workflowservice.DescribeWorkflowExecutionResponse) ending {
	switch run.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return cancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if pending(run, a.info.ActivityID) == nil && a.endsWithTurn() && time.Until(a.info.Deadline) < maxClockSkew {
			return cancelled
		}
	}
	return lost
}
