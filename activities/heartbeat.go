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
	// heartbeatInterval bounds the time between two heartbeats, so that people see the words of a
	// model call as they come.
	heartbeatInterval = time.Second
	// minHeartbeatWait is the least time that a heartbeat may take. Temporal's client waits no shorter.
	minHeartbeatWait = time.Second
	// maxLost bounds how many attempts at an effect that may be repeated are lost before it is given up: one that
	// takes its worker down would otherwise do so for ever.
	maxLost = 5
)

// heartbeat is one attempt's contact with Temporal. It tells Temporal that the attempt is alive, notices when
// Temporal has given the attempt up, and keeps in the heartbeat's details, which the next attempt can read, how
// often the effect was tried. It is safe for concurrent use.
//
// It does not use the heartbeats of the SDK: those cancel the activity's context when the network fails for
// a second, and tell nobody when Temporal has accepted one.
type heartbeat struct {
	ctx    context.Context // the attempt's
	client client.Client
	redact func(string) string
	info   activity.Info
	// beating ends when stop is called or ctx ends.
	beating context.Context
	stopped context.CancelFunc
	wait    sync.WaitGroup
	// over is closed when the attempt has ended by no act of its own; end says how.
	over chan struct{}

	mu    sync.Mutex
	tried Progress
	end   ending
	// follows is the attempt that runs the effect for which this one waits; nil where that is this one.
	follows *heartbeat
	// contact is the last time at which Temporal certainly took the attempt for alive.
	contact time.Time
}

// ending says why an attempt ended before its effect.
type ending int

const (
	// attemptOpen: the attempt has not ended.
	attemptOpen ending = iota
	// attemptLost: Temporal has given up the attempt, but not the effect: a heartbeat came too late, or the run was
	// reset or terminated.
	attemptLost
	// attemptCancelled: the workflow does not want the effect any more.
	attemptCancelled
	// attemptStopped: the worker stops, and its time to drain is over.
	attemptStopped
)

// Progress is the content of the heartbeats of a model or tool call.
type Progress struct {
	// Doing names what is done: the tool and the beginning of its arguments, or the model. The Web UI shows it with the
	// pending activity, whose ID is a hash.
	Doing string `json:"doing,omitempty"`
	// Tried counts the tries of the effect, with this one.
	Tried int `json:"tried"`
	// Reported counts the attempts that ended with an error of their own. All others before this one were lost.
	Reported int `json:"reported,omitempty"`
	// Sought counts the attempts that were given back because another worker may have the result.
	Sought int `json:"sought,omitempty"`
	// Empty are the replies that said nothing, of all attempts so far.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Candidate counts the changes from one model to the next, Refused holds those of which no answer is to be had.
	Candidate int   `json:"candidate,omitempty"`
	Refused   []int `json:"refused,omitempty"`
	// Text is the end of what the model has said so far, for people, and Said the number of bytes of all of it.
	Text string `json:"text,omitempty"`
	Said int    `json:"said,omitempty"`
	// Attempt is Temporal's number of the attempt that said it. The next attempt begins with the details
	// of the last: what they say is void as soon as the numbers differ.
	Attempt int32 `json:"attempt,omitempty"`
}

// maxDoingBytes bounds the text that says what an activity does.
const maxDoingBytes = 200

// maxProgressBytes bounds the words in a heartbeat.
const maxProgressBytes = 2000

// startHeartbeat begins the heartbeats of the attempt whose context ctx is. The caller must call stop.
func (a *Activities) startHeartbeat(ctx context.Context) *heartbeat {
	h := &heartbeat{ctx: ctx, client: a.temporal, redact: a.redact, info: activity.GetInfo(ctx), over: make(chan struct{}), contact: time.Now()}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be read are those of another version: counted anew.
		_ = activity.GetHeartbeatDetails(ctx, &h.tried)
	}
	// The worker may have been frozen after Temporal gave out the task. Clocks that differ cost a heartbeat.
	if started := h.info.StartedTime; !started.IsZero() && started.Before(h.contact) {
		h.contact = h.contact.Add(-h.contact.Sub(started))
	}
	h.beating, h.stopped = context.WithCancel(ctx)
	h.wait.Go(h.beat)
	return h
}

// beat sends heartbeats until the attempt has ended.
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
			// Errors that do not end the attempt are those of the network: it goes on while they last.
			_ = h.record(h.beating)
		case <-h.over:
			return
		case <-h.beating.Done():
			if h.ctx.Err() == nil {
				return // by stop
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

// record sends a heartbeat and returns nil if Temporal has accepted it. Where Temporal answers that the attempt is
// not alive, the attempt ends.
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
		// The SDK reports an activity as cancelled only if a heartbeat of its own was answered so.
		activity.RecordHeartbeat(h.ctx, progress)
	case errors.As(err, new(*serviceerror.NotFound)):
		h.finish(h.whyGone())
	}
	return err
}

// whyGone returns why Temporal no longer knows the attempt. It returns attemptCancelled if the run has completed or was
// cancelled, since such a run needs no effects, and attemptLost otherwise: the effect may be asked for again.
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

// finish ends the attempt. Only the first call counts.
func (h *heartbeat) finish(end ending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == attemptOpen {
		h.end = end
		close(h.over)
	}
}

// ended returns how the attempt ended; attemptOpen while it has not.
func (h *heartbeat) ended() ending {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end
}

// own returns nil if the attempt is still Temporal's. It asks Temporal only where the last contact is so long ago that the
// attempt may have timed out, as after a pause of the process.
func (h *heartbeat) own(ctx context.Context) error {
	if h.ended() != attemptOpen {
		return errors.New("the attempt has ended")
	}
	h.mu.Lock()
	contact := h.contact
	h.mu.Unlock()
	if timeout := h.info.HeartbeatTimeout; timeout <= 0 || age(contact) < timeout/2 {
		return nil
	}
	return h.record(ctx)
}

// age returns how long ago t is by the clock that says more: the monotonic clock stands still while the machine sleeps,
// the wall clock can be set back.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// lost returns how many earlier attempts have ended without a report: their workers died, or lost contact with Temporal.
// Attempts that a worker refused before its code ran, such as for an input that cannot be decoded, count as lost too.
func (h *heartbeat) lost() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, int(h.info.Attempt)-1-h.tried.Reported)
}

// tookWorkersDown reports whether so many attempts were lost, the last one among them, that another would be too.
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

// workerLost is the failure of an activity that is given up because it takes its workers down.
func (h *heartbeat) workerLost(what string) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the worker was lost %d times while it %s: look at the workers' logs and memory, then resume", h.lost(), what), protocol.WorkerLost, nil)
}

// checkLost returns a failure if the activity is to be given up because it takes its workers down. An activity calls it
// before it does anything else: whatever it does may be what kills the process.
func (h *heartbeat) checkLost(what string) error {
	down, err := h.tookWorkersDown(h.ctx)
	if err == nil && down {
		err = h.workerLost(what)
	}
	return err
}

// describe says what the activity does.
func (h *heartbeat) describe(doing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Doing = cut(strings.Join(strings.Fields(cut(doing, 4*maxDoingBytes)), " "), maxDoingBytes)
}

// attempt counts one try of the effect and returns its number, from 1.
func (h *heartbeat) attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Tried++
	h.tried.Text, h.tried.Said = "", 0 // what an earlier attempt said is void
	h.tried.Attempt = h.info.Attempt
	return h.tried.Tried
}

// attempts returns how often the effect was tried so far.
func (h *heartbeat) attempts() int { return h.progress().Tried }

// repeats returns the attempts before this one.
func (h *heartbeat) repeats() agent.Repeats {
	lost := h.lost()
	return agent.Repeats{Attempts: max(h.attempts()-1, lost), Lost: lost}
}

// countReturn counts an attempt that is given back because another worker may have the result, and returns how many
// there were, this one included.
func (h *heartbeat) countReturn() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Sought++
	return h.tried.Sought
}

// empty counts a reply that said nothing, and returns those so far.
func (h *heartbeat) empty(usage llm.Usage) agent.EmptyReplies {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Empty = h.tried.Empty.Add(usage)
	return h.tried.Empty
}

// addDelta takes a piece of what the model says.
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

// follow makes the attempt report the progress of the one that runs its effect.
func (h *heartbeat) follow(running *heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows = running
}

// progress returns what the next heartbeat says.
func (h *heartbeat) progress() Progress {
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

// report counts the attempt, which is about to fail with err, as one that reports its end, and tells
// the next attempt. A failure after which there is none needs no count.
func (h *heartbeat) report(err error) {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.NonRetryable() {
		return
	}
	if h.ended() == attemptLost || h.ended() == attemptCancelled {
		return // nobody hears it
	}
	h.mu.Lock()
	h.tried.Reported++
	h.mu.Unlock()
	_ = h.record(context.WithoutCancel(h.ctx)) // without it the attempt counts as lost
}

// stop ends the heartbeats.
func (h *heartbeat) stop() {
	h.stopped()
	h.wait.Wait()
}
