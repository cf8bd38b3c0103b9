package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

const (
	// textInterval is the minimum time between two heartbeats that report new text of a model call or a tool call.
	textInterval = time.Second
	// minHeartbeatWait is the minimum timeout of a heartbeat request. It equals the minimum in the SDK's own heartbeats.
	minHeartbeatWait = time.Second
	// minBeatWait is the minimum timeout of a periodic heartbeat. If a request hangs, another one must still be in time.
	minBeatWait = 250 * time.Millisecond
	// maxLost is the number of lost attempts after which the worker gives up an activity. Without this limit, an activity
	// that crashes its worker would crash workers for ever.
	maxLost = 5
)

// heartbeat sends the heartbeats of one activity attempt, and detects that Temporal has ended the attempt. The heartbeat
// details tell the next attempt what this attempt has done, for example how often it has called the model or the tool. A
// heartbeat is safe for concurrent use.
//
// The SDK's own heartbeats ([activity.RecordHeartbeat]) are not used for this, for two reasons. They cancel the activity's
// context when the network fails for a second. They do not report whether Temporal has accepted the heartbeat.
type heartbeat struct {
	// ctx is the context of the attempt.
	ctx    context.Context
	client client.Client
	// redact removes secrets from a text.
	redact func(string) string
	// info is what the SDK knows about the attempt.
	info activity.Info
	// lease is the lease of the worker; nil if there is none.
	lease *lease
	// calls counts the attempts on this worker that send heartbeats.
	calls *atomic.Int64
	// tells says that the heartbeats report the partial text of a model call, or the output of a running tool.
	tells bool
	// copied says that a reset copied the activity from another run.
	copied bool
	// beating is the context in which heartbeats are sent. It ends when [heartbeat.stop] is called, or when the context of
	// the attempt ends.
	beating context.Context
	// stopped ends the context `beating`.
	stopped context.CancelFunc
	// wait is used to wait for the end of the goroutine that sends heartbeats.
	wait sync.WaitGroup
	// over is closed when Temporal, or the stop of the worker, ends the attempt. The field `end` then holds the reason. If
	// the activity returns first, the channel is not closed.
	over chan struct{}

	mu sync.Mutex
	// tried says what this attempt and earlier attempts have done.
	tried protocol.Progress
	// end says whether and why the attempt ended.
	end ending
	// follows is the attempt that makes the model call or tool call, if this attempt only waits for the result. It is nil if
	// this attempt makes the call itself.
	follows *heartbeat
	// contact is the start of the last request that Temporal has answered by saying that the attempt is alive. Before the first
	// such request, it is the time at which the attempt started.
	contact time.Time
	// told is the size of the text in the last heartbeat that Temporal has accepted: the field `Said` of [protocol.Progress].
	told int
}

// maxDoingBytes is the maximum size, in bytes, of the text that says what the activity does. The text is the field `Doing` of
// [protocol.Progress].
const maxDoingBytes = 200

// maxProgressBytes is the maximum size, in bytes, of the text in a heartbeat. This is the end of the reply that is arriving from the
// model, or of what a running tool has reported: the field `Text` of [protocol.Progress].
const maxProgressBytes = 2000

// startHeartbeat begins to send heartbeats for the activity attempt with the given context. They show that the attempt is alive.
// There are two in the heartbeat timeout and no more, because Temporal Cloud bills each heartbeat. If `tells` is true, there is also
// a heartbeat each second in which the model call or the tool has reported new text. When the attempt ends, the caller must call
// [heartbeat.stop].
//
// `operation` is the operation in the input of the activity; nil if the activity has none.
func (a *Activities) startHeartbeat(ctx context.Context, tells bool, operation *protocol.Recall) *heartbeat {
	info := activity.GetInfo(ctx)
	copied := operation != nil && operation.Run != "" && operation.Run != protocol.RunSuffix(info.WorkflowExecution.RunID)
	h := &heartbeat{copied: copied, ctx: ctx, client: a.temporal, redact: a.redact, lease: a.lease, calls: &a.calls, tells: tells, info: info, over: make(chan struct{}), contact: time.Now()}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be decoded come from another version of the worker. The counts then start from zero.
		_ = activity.GetHeartbeatDetails(ctx, &h.tried)
		h.tried.Text, h.tried.Said = "", 0 // the text of an earlier attempt is discarded
	}
	// The process may have been suspended after Temporal started the attempt, so the start counts as the last contact. If the
	// clock of this machine is ahead of the server's, the contact seems older, and own sends an unnecessary heartbeat.
	if started := h.info.StartedTime; !started.IsZero() && started.Before(h.contact) {
		h.contact = h.contact.Add(-h.contact.Sub(started))
	}
	h.beating, h.stopped = context.WithCancel(ctx)
	h.calls.Add(1)
	h.wait.Go(h.beat)
	h.lease.add(h)
	return h
}

// beat sends heartbeats until the attempt ends or [heartbeat.stop] is called. Between two heartbeats it looks whether the attempt
// has ended: see [heartbeat.look]. If the attempt's context ends, the attempt is marked as ended: see [heartbeat.finish].
func (h *heartbeat) beat() {
	interval := h.info.HeartbeatTimeout / 2
	// due is the time of the next heartbeat, even if there is no new text. look is the time of the next look.
	due, look := time.Now().Add(interval), time.Now().Add(h.lookInterval())
	timer := time.NewTimer(h.untilNext(due, look))
	defer timer.Stop()
	if interval == 0 {
		timer.Stop() // the activity has no heartbeat timeout
	}
	for {
		select {
		case <-timer.C:
			// If Temporal has ended the attempt, look and record call finish. After any other error the attempt continues.
			ctx, cancel := context.WithTimeout(h.beating, max(h.info.HeartbeatTimeout/4, minBeatWait))
			switch now := time.Now(); {
			case !now.Before(due) || h.hasNews():
				due = now.Add(interval)
				if h.record(ctx) != nil {
					due = now.Add(interval / 4) // the next heartbeat follows soon
				}
				look = time.Now().Add(h.lookInterval())
			case !now.Before(look):
				h.look(ctx)
				look = time.Now().Add(h.lookInterval())
			}
			cancel()
			timer.Reset(h.untilNext(due, look))
		case <-h.over:
			return
		case <-h.beating.Done():
			if h.ctx.Err() == nil {
				return // stop was called
			}
			end := attemptStopped
			switch {
			case h.timeIsUp() && h.copied:
				end = attemptLost // the time limit has begun again, and another activity may need the result
			case temporal.IsCanceledError(context.Cause(h.ctx)), h.timeIsUp():
				end = attemptCancelled
			}
			h.finish(end)
			return
		}
	}
}

// untilNext returns how long [heartbeat.beat] waits. `due` is the time of the next heartbeat and `look` that of the next look. If the
// heartbeats report text, beat checks each second whether there is new text.
func (h *heartbeat) untilNext(due, look time.Time) time.Duration {
	wait := min(time.Until(due), time.Until(look))
	if h.tells {
		wait = min(wait, h.info.HeartbeatTimeout/3, textInterval)
	}
	return max(0, wait)
}

// hasNews reports whether the call has reported text since the last heartbeat that Temporal has accepted.
func (h *heartbeat) hasNews() bool {
	if !h.tells {
		return false
	}
	said := h.progress().Said
	h.mu.Lock()
	defer h.mu.Unlock()
	return said != h.told
}

// record sends a heartbeat and returns nil if Temporal has accepted the heartbeat. Temporal may answer that the activity is
// cancelled, or that the attempt is unknown. In both cases the attempt is also marked as ended: see [heartbeat.finish]. After
// any other error the attempt continues, because the usual reason is that Temporal could not be reached for a moment.
func (h *heartbeat) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(h.info.HeartbeatTimeout/3, minHeartbeatWait))
	defer cancel()
	sent := time.Now()
	progress := h.progress()
	err := h.client.RecordActivityHeartbeat(ctx, h.info.TaskToken, progress)
	switch {
	case err == nil:
		h.mu.Lock()
		h.contact, h.told = sent, progress.Said
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

// own returns nil if Temporal still considers the attempt alive. It is called directly before a model call or tool call. An
// attempt that Temporal has given up must not make the call, because another attempt may make the same call. The error is
// not nil if the attempt has ended, or if Temporal cannot be asked.
//
// own asks Temporal by a heartbeat. In two cases, own sends no heartbeat, and the attempt counts as alive. Either there is no
// heartbeat timeout, or the last contact with Temporal is more recent than half of the heartbeat timeout. If the worker has a
// lease, the lease must be alive, too: see [lease.confirm].
func (h *heartbeat) own(ctx context.Context) error {
	if h.ended() != attemptOpen || h.ctx.Err() != nil {
		return errors.New("this attempt of the activity has ended, because it was cancelled or lost, because its time is up, or because the worker is stopping")
	}
	h.mu.Lock()
	contact := h.contact
	h.mu.Unlock()
	if timeout := h.info.HeartbeatTimeout; timeout > 0 && age(contact) >= timeout/2 {
		if err := h.record(ctx); err != nil {
			return err
		}
	}
	return h.lease.confirm(ctx, h)
}

// age returns how long ago the given time was. It measures with the monotonic clock and with the wall clock, and returns the
// longer duration. The monotonic clock may stop while the machine sleeps, and the wall clock can be set back.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// lost returns how many earlier attempts of the activity ended without reporting an error. Usually, their workers crashed or
// lost contact with Temporal. An attempt also counts as lost if it failed before the activity's code ran. For example, the
// input could not be decoded.
func (h *heartbeat) lost() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, int(h.info.Attempt)-1-h.tried.Reported)
}

// tookWorkersDown reports whether the activity has to be given up because it crashes its workers. This is the case if at
// least [maxLost] attempts were lost and the previous attempt ended with a heartbeat timeout. If Temporal cannot be asked how
// the previous attempt ended, tookWorkersDown returns a retryable error.
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
	last := pending(found, h.info.ActivityID).GetLastFailure()
	return last.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT ||
		last.GetApplicationFailureInfo().GetType() == protocol.LeaseLost, nil
}

// workerLost returns the error of an activity that is given up because it crashes its workers. The given clause says what the
// activity did, in the past tense, such as "made this model call". The error text contains this clause.
func (h *heartbeat) workerLost(what string) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the worker was lost %d times while it %s: look at the workers' logs and memory, then resume", h.lost(), what), protocol.WorkerLost, nil)
}

// checkLost returns an error if the activity has to be given up because it crashes its workers: see
// [heartbeat.tookWorkersDown]. It also returns an error if Temporal cannot be asked. The given clause says what the activity
// did: see [heartbeat.workerLost]. An activity calls checkLost before its own work, because any part of this work may crash
// the process.
func (h *heartbeat) checkLost(what string) error {
	down, err := h.tookWorkersDown(h.ctx)
	if err == nil && down {
		err = h.workerLost(what)
	}
	return err
}

// describe sets the text that says what the activity does. The heartbeats contain this text, and the Temporal Web UI shows
// it. Only the beginning of the text is kept, on one line.
func (h *heartbeat) describe(doing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Doing = cut(strings.Join(strings.Fields(cut(doing, 4*maxDoingBytes)), " "), maxDoingBytes)
}

// attempt counts one more try of the activity's model call or tool call, and clears the partial text of the previous try. It
// returns the number of all tries so far. This number includes the tries that earlier attempts of the activity made.
func (h *heartbeat) attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Tried++
	h.tried.Text, h.tried.Said, h.told = "", 0, 0 // the text of an earlier try is discarded
	h.tried.Attempt = h.info.Attempt
	return h.tried.Tried
}

// attempts returns how often the model call or tool call was tried so far. The number includes the tries that earlier
// attempts of the activity made.
func (h *heartbeat) attempts() int { return h.progress().Tried }

// repeats returns how often the model call was tried before the current try, and how many earlier attempts of the activity
// were lost: see [heartbeat.lost]. A lost attempt may have tried the call, but this is not recorded. Therefore each lost
// attempt counts as at least one try.
func (h *heartbeat) repeats() agent.Repeats {
	lost := h.lost()
	return agent.Repeats{Attempts: max(h.attempts()-1, lost), Lost: lost}
}

// countReturn counts an attempt that ends without running the tool: see [returnAttempt]. It returns the number of such
// attempts so far, including this attempt.
func (h *heartbeat) countReturn() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Sought++
	return h.tried.Sought
}

// empty counts one more empty reply of the model and its token usage. It returns the totals of all attempts so far.
func (h *heartbeat) empty(usage llm.Usage) agent.EmptyReplies {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Empty = h.tried.Empty.Add(usage)
	return h.tried.Empty
}

// addText appends a piece of a streamed reply, or of the output of a running tool, to the text in the heartbeats. If the heartbeats
// do not report text, addText does nothing.
func (h *heartbeat) addText(text string) {
	if !h.tells {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Said += len(text)
	// Keep twice the text that a heartbeat reports. Otherwise the limit could cut a secret, and the rest would not be redacted.
	const most = 2 * maxProgressBytes
	if text = h.tried.Text + text[max(0, len(text)-most):]; len(text) > most {
		text = text[len(text)-most:]
	}
	h.tried.Text = text
}

// textEnd returns the end of a text, at most [maxProgressBytes] bytes. Bytes that are not UTF-8 become U+FFFD. But a character at
// the beginning or the end of which only a part is in the text is left out.
func textEnd(text string) string {
	if extra := len(text) - maxProgressBytes; extra > 0 {
		text = text[extra:]
		for i := 0; i < utf8.UTFMax-1 && text != "" && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
		}
	}
	for i := max(0, len(text)-utf8.UTFMax); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRuneInString(text[i:]) {
			text = text[:i]
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// follow sets whose progress the heartbeats of this attempt report. If this attempt only waits for a result, they report the
// progress of the attempt that makes the model call or tool call. The caller passes the heartbeat of that attempt. If this
// attempt makes the call itself, the caller passes nil, and the heartbeats report the progress of this attempt.
func (h *heartbeat) follow(running *heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows = running
}

// progress returns the details for the next heartbeat. Secrets in the text are redacted.
func (h *heartbeat) progress() protocol.Progress {
	h.mu.Lock()
	own, follows := h.tried, h.follows
	h.mu.Unlock()
	if follows == nil {
		own.Text = textEnd(h.redact(own.Text))
		return own
	}
	p := follows.progress()
	p.Reported, p.Sought, p.Attempt = own.Reported, own.Sought, h.info.Attempt
	return p
}

// report tells Temporal, by a heartbeat, that the attempt is about to fail with the given error. Therefore the next attempt
// does not count this attempt as lost. If the error is not retryable, nothing is sent, because no attempt follows. Nothing is
// sent either if Temporal has already ended the attempt.
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
	h.lease.remove(h)
	h.calls.Add(-1)
	h.stopped()
	h.wait.Wait()
}
