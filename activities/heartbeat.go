package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

const (
	// heartbeatInterval is the maximum time between two heartbeats. It is short so that people see the partial text of a model
	// call while it grows.
	heartbeatInterval = time.Second
	// minHeartbeatWait is the minimum timeout of a heartbeat request. It equals the minimum in the SDK's own heartbeats.
	minHeartbeatWait = time.Second
	// maxLost is the number of lost attempts after which the worker gives up an effect. Without this limit, an effect that
	// crashes its worker would crash workers for ever.
	maxLost = 5
)

// heartbeat sends the heartbeats of one activity attempt, and detects that Temporal has ended the attempt. The heartbeat details
// say how often the effect was tried; the next attempt reads them. A heartbeat is safe for concurrent use.
//
// It does not use the SDK's activity.RecordHeartbeat, for two reasons. RecordHeartbeat cancels the activity's context when the
// network fails for a second. And RecordHeartbeat does not report whether Temporal has accepted the heartbeat.
type heartbeat struct {
	ctx    context.Context // the context of the attempt
	client client.Client
	redact func(string) string
	info   activity.Info
	// beating is the context in which heartbeats are sent. It ends when stop is called, or when ctx ends. The function stopped
	// cancels it.
	beating context.Context
	stopped context.CancelFunc
	wait    sync.WaitGroup
	// over is closed when the attempt is ended by Temporal or by the stop of the worker. The field end holds the reason. If
	// the activity returns first, the channel is not closed.
	over chan struct{}

	mu    sync.Mutex
	tried protocol.Progress
	end   ending
	// follows is the attempt that runs the effect, if this attempt only waits for the effect. It is nil if this attempt runs the
	// effect itself.
	follows *heartbeat
	// contact is the latest time at which Temporal certainly considered the attempt alive.
	contact time.Time
}

// ending is the reason why an attempt ended before its effect had ended.
type ending int

const (
	// attemptOpen means that the attempt has not ended.
	attemptOpen ending = iota
	// attemptLost means that Temporal has ended the attempt, but may still need the effect. A heartbeat came too late, or the run
	// was reset or terminated.
	attemptLost
	// attemptCancelled means that the workflow does not need the effect any more.
	attemptCancelled
	// attemptStopped means that the worker is stopping and that the time for its running activities is over.
	attemptStopped
)

// maxDoingBytes limits protocol.Progress.Doing, in bytes.
const maxDoingBytes = 200

// maxProgressBytes limits protocol.Progress.Text, in bytes.
const maxProgressBytes = 2000

// startHeartbeat begins to send heartbeats for the activity attempt with the context ctx. The caller must call stop.
func (a *Activities) startHeartbeat(ctx context.Context) *heartbeat {
	h := &heartbeat{ctx: ctx, client: a.temporal, redact: a.redact, info: activity.GetInfo(ctx), over: make(chan struct{}), contact: time.Now()}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be decoded come from another version of the worker. The counts then start from zero.
		_ = activity.GetHeartbeatDetails(ctx, &h.tried)
	}
	// The process may have been suspended after Temporal started the attempt, so the start counts as the last contact. If the
	// clock of this machine is ahead of the server's, the contact seems older, and own sends an unnecessary heartbeat.
	if started := h.info.StartedTime; !started.IsZero() && started.Before(h.contact) {
		h.contact = h.contact.Add(-h.contact.Sub(started))
	}
	h.beating, h.stopped = context.WithCancel(ctx)
	h.wait.Go(h.beat)
	return h
}

// beat sends heartbeats until the attempt ends or stop is called. If the context of the attempt ends, beat calls finish with the
// reason.
func (h *heartbeat) beat() {
	var ticks <-chan time.Time
	if h.info.HeartbeatTimeout > 0 {
		ticker := time.NewTicker(min(h.info.HeartbeatTimeout/3, heartbeatInterval))
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ticks:
			// record ends the attempt if Temporal has ended it. All other errors are network errors, and the attempt continues.
			_ = h.record(h.beating)
		case <-h.over:
			return
		case <-h.beating.Done():
			if h.ctx.Err() == nil {
				return // stop was called
			}
			end := attemptStopped
			if temporal.IsCanceledError(context.Cause(h.ctx)) {
				end = attemptCancelled
			}
			h.finish(end)
			return
		}
	}
}

// record sends a heartbeat and returns nil if Temporal has accepted it. If Temporal answers that the activity is cancelled, or
// that it does not know the attempt, record returns the error and calls finish, which marks the attempt as ended. Any other
// error means that Temporal was not reached.
func (h *heartbeat) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(h.info.HeartbeatTimeout, minHeartbeatWait))
	defer cancel()
	sent := time.Now()
	progress := h.progress()
	err := h.client.RecordActivityHeartbeat(ctx, h.info.TaskToken, progress)
	switch {
	case err == nil:
		h.mu.Lock()
		h.contact = sent
		h.mu.Unlock()
	case temporal.IsCanceledError(err):
		h.finish(attemptCancelled)
		// The SDK reports an activity as cancelled only if one of the SDK's own heartbeats had that answer.
		activity.RecordHeartbeat(h.ctx, progress)
	case errors.As(err, new(*serviceerror.NotFound)):
		h.finish(h.whyGone())
	}
	return err
}

// whyGone returns why Temporal no longer knows the attempt. It returns attemptCancelled if the run has completed or was
// cancelled, because such a run needs no effects. Otherwise it returns attemptLost, because another attempt or run may need the
// effect. It also returns attemptLost if it cannot read the status of the run.
func (h *heartbeat) whyGone() ending {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), minHeartbeatWait)
	defer cancel()
	run := h.info.WorkflowExecution
	found, err := h.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return attemptLost
	}
	switch found.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return attemptCancelled
	default:
		return attemptLost
	}
}

// finish marks the attempt as ended for the given reason. Calls after the first do nothing.
func (h *heartbeat) finish(end ending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == attemptOpen {
		h.end = end
		close(h.over)
	}
}

// ended returns the reason why the attempt ended. It returns attemptOpen if the attempt has not ended.
func (h *heartbeat) ended() ending {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end
}

// own returns nil if Temporal still considers the attempt alive. It returns an error if the attempt has ended, or if Temporal
// cannot be asked.
//
// To ask Temporal, own sends a heartbeat. It asks only if the last contact with Temporal is at least half of the heartbeat
// timeout ago, for example because the process was suspended. If the last contact is more recent, or if there is no heartbeat
// timeout, own does not ask Temporal, and returns nil unless the attempt has ended.
func (h *heartbeat) own(ctx context.Context) error {
	if h.ended() != attemptOpen {
		return errors.New("this attempt of the activity has ended, because it was cancelled or lost, or because the worker is stopping")
	}
	h.mu.Lock()
	contact := h.contact
	h.mu.Unlock()
	if timeout := h.info.HeartbeatTimeout; timeout <= 0 || age(contact) < timeout/2 {
		return nil
	}
	return h.record(ctx)
}

// age returns the time since t. It uses the monotonic clock or the wall clock, whichever gives the longer time: the monotonic
// clock may stop while the machine sleeps, and the wall clock can be set back.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// lost returns how many attempts before this attempt were lost, because their workers crashed or lost contact with Temporal. An
// attempt that failed before the activity's code ran, for example because its input could not be decoded, counts as lost, too.
func (h *heartbeat) lost() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, int(h.info.Attempt)-1-h.tried.Reported)
}

// tookWorkersDown reports whether to give up the effect because it crashes its workers. This is the case if at least maxLost
// attempts were lost and the previous attempt ended with a heartbeat timeout. If the workflow cannot be described,
// tookWorkersDown returns a retryable error.
func (h *heartbeat) tookWorkersDown(ctx context.Context) (bool, error) {
	if h.lost() < maxLost {
		return false, nil
	}
	run := h.info.WorkflowExecution
	found, err := h.client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return false, temporal.NewApplicationErrorWithOptions("describe the workflow: "+err.Error(), protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	}
	for _, pending := range found.GetPendingActivities() {
		if pending.GetActivityId() == h.info.ActivityID {
			last := pending.GetLastFailure().GetTimeoutFailureInfo()
			return last.GetTimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT, nil
		}
	}
	return false, nil
}

// workerLost returns the error of an activity that is given up because it crashes its workers. The parameter what becomes a part
// of the error text. It says what the activity did, in the past tense, such as "made this model call".
func (h *heartbeat) workerLost(what string) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the worker was lost %d times while it %s: look at the workers' logs and memory, then resume", h.lost(), what), protocol.WorkerLost, nil)
}

// checkLost returns the error of workerLost if tookWorkersDown returns true. If tookWorkersDown fails, checkLost returns its
// error. Otherwise it returns nil. See workerLost for the parameter what. An activity calls checkLost before its own work,
// because any step of this work may be the step that crashes the process.
func (h *heartbeat) checkLost(what string) error {
	down, err := h.tookWorkersDown(h.ctx)
	if err == nil && down {
		err = h.workerLost(what)
	}
	return err
}

// describe sets protocol.Progress.Doing to the beginning of the given text, on one line.
func (h *heartbeat) describe(doing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Doing = cut(strings.Join(strings.Fields(cut(doing, 4*maxDoingBytes)), " "), maxDoingBytes)
}

// attempt counts one more try of the effect, and returns how often the effect was tried so far, including this time. It clears
// the partial text.
func (h *heartbeat) attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Tried++
	h.tried.Text, h.tried.Said = "", 0 // the text of an earlier attempt is discarded
	h.tried.Attempt = h.info.Attempt
	return h.tried.Tried
}

// attempts returns how often the effect was tried so far, in this attempt and all earlier attempts of the activity.
func (h *heartbeat) attempts() int { return h.progress().Tried }

// repeats returns how many attempts there were before this attempt, and how many of them were lost.
func (h *heartbeat) repeats() agent.Repeats {
	lost := h.lost()
	return agent.Repeats{Attempts: max(h.attempts()-1, lost), Lost: lost}
}

// countReturn counts an attempt that ends without running the tool, because another worker may have the result. It returns how
// many such attempts there were, including this attempt. The number is stored in protocol.Progress.Sought.
func (h *heartbeat) countReturn() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Sought++
	return h.tried.Sought
}

// empty counts an empty reply and adds its token usage to the usage of earlier empty replies. It returns the totals over all
// attempts so far.
func (h *heartbeat) empty(usage llm.Usage) agent.EmptyReplies {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Empty = h.tried.Empty.Add(usage)
	return h.tried.Empty
}

// addDelta appends the text of a delta to the partial text. protocol.Progress.Text keeps only the last maxProgressBytes bytes.
func (h *heartbeat) addDelta(d llm.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Said += len(d.Text)
	text := h.tried.Text + d.Text
	if extra := len(text) - maxProgressBytes; extra > 0 {
		text = strings.ToValidUTF8(text[extra:], "")
	}
	h.tried.Text = text
}

// follow records which attempt runs the effect. If another attempt runs it, the parameter running is that attempt's heartbeat,
// and the heartbeats of this attempt then contain that attempt's progress. If this attempt runs the effect itself, the parameter
// is nil, and this attempt sends its own progress.
func (h *heartbeat) follow(running *heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows = running
}

// progress returns the details for the next heartbeat. The partial text in the field Text is redacted.
func (h *heartbeat) progress() protocol.Progress {
	h.mu.Lock()
	own, follows := h.tried, h.follows
	h.mu.Unlock()
	if follows == nil {
		own.Text = h.redact(own.Text)
		return own
	}
	p := follows.progress()
	p.Reported, p.Sought, p.Attempt = own.Reported, own.Sought, h.info.Attempt
	return p
}

// report tells Temporal that the attempt is about to fail with the error err, so that the next attempt does not count this
// attempt as lost. It adds 1 to protocol.Progress.Reported and sends a heartbeat. If err is not retryable, report does
// nothing, because no attempt follows. It also does nothing if Temporal has already ended the attempt.
func (h *heartbeat) report(err error) {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.NonRetryable() {
		return
	}
	if h.ended() == attemptLost || h.ended() == attemptCancelled {
		return // Temporal accepts no more heartbeats of this attempt
	}
	h.mu.Lock()
	h.tried.Reported++
	h.mu.Unlock()
	_ = h.record(context.WithoutCancel(h.ctx)) // if this heartbeat fails, the attempt counts as lost
}

// stop ends the heartbeats. It returns when no heartbeat is being sent any more.
func (h *heartbeat) stop() {
	h.stopped()
	h.wait.Wait()
}
