package attempt

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	minLookInterval = 1500 * time.Millisecond
	// looksPerSecond limits the looks of all calls of a worker.
	looksPerSecond = 100
	// maxClockSkew is the largest supported difference between the clocks of a worker and of Temporal. If the difference is larger,
	// a worker may not notice that a call has reached the time limit of its turn.
	maxClockSkew = time.Minute
)

// ending says whether an activity attempt ended before its work was finished, and why.
type ending int

const (
	open ending = iota
	// lost means that Temporal has ended the attempt, but may still need the result. A heartbeat came too late, or the
	// run was reset or terminated.
	lost
	// cancelled means that the workflow does not need the result any more. It cancelled the activity, or the time limit of
	// the turn is over.
	cancelled
	// stopped means that the worker is stopping and that the time for its running activities is over.
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

// lookInterval returns the time between two looks at the activity. It is longer if the worker makes many calls.
func (a *Attempt) lookInterval() time.Duration {
	return max(minLookInterval, time.Duration(a.calls.Load())*time.Second/looksPerSecond)
}

// look asks Temporal whether the attempt was cancelled or lost, without a heartbeat. Heartbeats are few, because Temporal Cloud
// bills them. It does not bill descriptions. If the description cannot be read, look does nothing.
func (a *Attempt) look(ctx context.Context) {
	run := a.info.WorkflowExecution
	found, err := a.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
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

func pending(run *workflowservice.DescribeWorkflowExecutionResponse, id string) *workflowpb.PendingActivityInfo {
	for _, p := range run.GetPendingActivities() {
		if p.GetActivityId() == id {
			return p
		}
	}
	return nil
}

// whyGone returns why Temporal no longer knows the attempt: see [gone]. If the run cannot be described, the reason is
// [lost].
func (a *Attempt) whyGone() ending {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), minHeartbeatWait)
	defer cancel()
	run := a.info.WorkflowExecution
	found, err := a.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return lost
	}
	return a.gone(found)
}

// gone returns why a run no longer has the attempt. The reason is [cancelled] if the run has completed or was cancelled,
// because nothing needs the result of an attempt of this run. The same holds if the activity has ended shortly before its deadline:
// it has reached the time limit of the turn, and the clock of this worker is behind. Otherwise the reason is [lost],
// because another attempt or a later run may need the result.
func (a *Attempt) gone(run *workflowservice.DescribeWorkflowExecutionResponse) ending {
	switch run.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return cancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if pending(run, a.info.ActivityID) == nil && a.endsWithTurn() && time.Until(a.info.Deadline) < maxClockSkew {
			return cancelled
		}
	}
	return lost
}
