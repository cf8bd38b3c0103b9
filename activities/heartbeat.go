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
// tell the next attempt what this attempt has done, for example how often it has called the model or the tool. A heartbeat is
// safe for concurrent use.
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
	// follows is the attempt that runs the effect (the model call or tool call), if this attempt only waits for the effect. It is
	// nil if this attempt runs the effect itself.
	follows *heartbeat
	// contact is the latest time at which Temporal certainly considered the attempt alive.
	contact time.Time
}

// ending says whether and why an activity attempt ended before its work was finished.
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

// maxDoingBytes is the maximum size, in bytes, of the text in protocol.Progress.Doing. The text says what the activity does.
const maxDoingBytes = 200

// maxProgressBytes is the maximum size, in bytes, of the text in protocol.Progress.Text. The text is the end of the reply that is
// arriving from the model.
const maxProgressBytes = 2000

// startHeartbeat begins to send heartbeats for the activity attempt with the context ctx. When the attempt ends, the caller must
// call stop on the returned heartbeat.
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

// beat sends heartbeats until the attempt ends or stop is called. If the attempt's context ends, beat marks the attempt as ended:
// see [heartbeat.finish].
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
			// record calls finish if Temporal has ended the attempt. After any other error the attempt continues.
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
// that it does not know the attempt, record also marks the attempt as ended: see [heartbeat.finish]. After any other error the
// attempt continues, because the usual reason is that Temporal could not be reached for a moment.
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

// whyGone returns why Temporal no longer knows the attempt. It returns attemptCancelled if the workflow run has completed or was
// cancelled, because nothing needs the attempt's result then. Otherwise it returns attemptLost, because another attempt or a
// later run may need the result. It also returns attemptLost if it cannot read the status of the run.
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

// own checks that Temporal still considers the attempt alive. It is called directly before a model call or tool call: an attempt
// that Temporal has given up must not make the call, because another attempt may make it. own returns an error if the attempt has
// ended, or if Temporal cannot be asked.
//
// To ask Temporal, own sends a heartbeat. It does so only if the last contact with Temporal is at least half of the heartbeat
// timeout ago, for example because the process was suspended. After a more recent contact, own assumes that the attempt is alive.
// It assumes the same if there is no heartbeat timeout.
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

// lost returns how many earlier attempts of the activity ended without reporting an error. Usually, their workers crashed or lost
// contact with Temporal. An attempt that failed before the activity's code ran, for example because its input could not be
// decoded, counts as lost, too.
func (h *heartbeat) lost() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, int(h.info.Attempt)-1-h.tried.Reported)
}

// tookWorkersDown reports whether the activity has to be given up because it crashes its workers. This is the case if at least
// maxLost attempts were lost and the previous attempt ended with a heartbeat timeout. If Temporal cannot be asked how the
// previous attempt ended, tookWorkersDown returns a retryable error.
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

// workerLost returns the error of an activity that is given up because it crashes its workers. The error text contains a
// clause (what) that says what the activity did, in the past tense, such as "made this model call".
func (h *heartbeat) workerLost(what string) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the worker was lost %d times while it %s: look at the workers' logs and memory, then resume", h.lost(), what), protocol.WorkerLost, nil)
}

// checkLost returns an error if the activity has to be given up because it crashes its workers, or if this cannot be found out
// (see tookWorkersDown). An activity calls checkLost before its own work, because any step of this work may be the step that
// crashes the process. In the first case, the error is that of workerLost with the given clause.
func (h *heartbeat) checkLost(what string) error {
	down, err := h.tookWorkersDown(h.ctx)
	if err == nil && down {
		err = h.workerLost(what)
	}
	return err
}

// describe sets the text that says what the activity does. The heartbeats contain this text, and the Temporal Web UI shows it.
// describe keeps only the beginning of the text, on one line.
func (h *heartbeat) describe(doing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Doing = cut(strings.Join(strings.Fields(cut(doing, 4*maxDoingBytes)), " "), maxDoingBytes)
}

// attempt counts one more try of the model call or tool call. It returns how often the call was tried so far, including this time
// and the tries of earlier attempts of the activity. It clears the partial text of the earlier try.
func (h *heartbeat) attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Tried++
	h.tried.Text, h.tried.Said = "", 0 // the text of an earlier attempt is discarded
	h.tried.Attempt = h.info.Attempt
	return h.tried.Tried
}

// attempts returns how often the model call or tool call was tried so far, in this attempt and all earlier attempts of the
// activity.
func (h *heartbeat) attempts() int { return h.progress().Tried }

// repeats returns how often the model call was tried before the current try, and how many attempts of the activity were lost. A
// lost attempt may have tried the call, so the first number is never below the second.
func (h *heartbeat) repeats() agent.Repeats {
	lost := h.lost()
	return agent.Repeats{Attempts: max(h.attempts()-1, lost), Lost: lost}
}

// countReturn counts an attempt that ends without running the tool, because another worker may have the tool's result. It returns
// how many such attempts there were, including this attempt.
func (h *heartbeat) countReturn() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Sought++
	return h.tried.Sought
}

// empty counts one more empty reply of the model, with its token usage. It returns the totals over all attempts so far.
func (h *heartbeat) empty(usage llm.Usage) agent.EmptyReplies {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Empty = h.tried.Empty.Add(usage)
	return h.tried.Empty
}

// addDelta appends a delta, which is a piece of a streamed reply, to the partial text in the heartbeats. The partial text keeps
// only its last maxProgressBytes bytes.
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

// follow sets which attempt's progress the heartbeats of this attempt contain. If another attempt runs the model call or tool
// call, and this attempt only waits for the result, the caller passes the heartbeat of the other attempt. If this attempt runs
// the call itself, the caller passes nil.
func (h *heartbeat) follow(running *heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows = running
}

// progress returns the details for the next heartbeat. Secrets in the partial text of the reply are redacted.
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
// attempt as lost. To do so, it sends a heartbeat. If err is not retryable, report does nothing, because no attempt follows. It
// also does nothing if Temporal has already ended the attempt.
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

// stop ends the heartbeats, and waits until no heartbeat is being sent any more.
func (h *heartbeat) stop() {
	h.stopped()
	h.wait.Wait()
}
