package activities

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	// minLookInterval is the minimum time between two looks at the activity: see [heartbeat.look].
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
	// attemptOpen means that the attempt has not ended.
	attemptOpen ending = iota
	// attemptLost means that Temporal has ended the attempt, but may still need the result. A heartbeat came too late, or the
	// run was reset or terminated.
	attemptLost
	// attemptCancelled means that the workflow does not need the result any more. It cancelled the activity, or the time limit of
	// the turn is over.
	attemptCancelled
	// attemptStopped means that the worker is stopping and that the time for its running activities is over.
	attemptStopped
)

// finish marks the attempt as ended for the given reason. Only the first call changes anything.
func (h *heartbeat) finish(end ending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == attemptOpen {
		h.end = end
		close(h.over)
	}
}

// ended returns the reason why the attempt ended. It returns [attemptOpen] if the attempt has not ended.
func (h *heartbeat) ended() ending {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end
}

// lookInterval returns the time between two looks at the activity. It is longer if the worker makes many calls.
func (h *heartbeat) lookInterval() time.Duration {
	return max(minLookInterval, time.Duration(h.calls.Load())*time.Second/looksPerSecond)
}

// look asks Temporal whether the attempt was cancelled or lost, without a heartbeat. Heartbeats are few, because Temporal Cloud
// bills them. It does not bill descriptions. If the description cannot be read, look does nothing.
func (h *heartbeat) look(ctx context.Context) {
	run := h.info.WorkflowExecution
	found, err := h.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return
	}
	switch p := pending(found, h.info.ActivityID); {
	case p == nil:
		h.finish(h.gone(found))
	case p.GetAttempt() != h.info.Attempt:
		h.finish(attemptLost)
	case p.GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
		_ = h.record(ctx) // the answer says that the activity is cancelled
	}
}

// pending returns the pending activity with the given ID. It returns nil if the run has none.
func pending(run *workflowservice.DescribeWorkflowExecutionResponse, id string) *workflowpb.PendingActivityInfo {
	for _, p := range run.GetPendingActivities() {
		if p.GetActivityId() == id {
			return p
		}
	}
	return nil
}

// whyGone returns why Temporal no longer knows the attempt: see [gone]. If the run cannot be described, the reason is
// [attemptLost].
func (h *heartbeat) whyGone() ending {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), minHeartbeatWait)
	defer cancel()
	run := h.info.WorkflowExecution
	found, err := h.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return attemptLost
	}
	return h.gone(found)
}

// gone returns why a run no longer has the attempt. The reason is [attemptCancelled] if the run has completed or was cancelled,
// because nothing needs the result of an attempt of this run. The same holds if the activity has ended shortly before its deadline:
// it has reached the time limit of the turn, and the clock of this worker is behind. Otherwise the reason is [attemptLost],
// because another attempt or a later run may need the result.
func (h *heartbeat) gone(run *workflowservice.DescribeWorkflowExecutionResponse) ending {
	switch run.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return attemptCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if pending(run, h.info.ActivityID) == nil && h.endsWithTurn() && time.Until(h.info.Deadline) < maxClockSkew {
			return attemptCancelled
		}
	}
	return attemptLost
}
