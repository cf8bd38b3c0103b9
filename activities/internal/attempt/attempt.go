package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/presence"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

const (
	textInterval = time.Second
	// minHeartbeatWait is the minimum timeout of a heartbeat request. It equals the minimum in the SDK's own heartbeats.
	minHeartbeatWait = time.Second
	// minBeatWait is the minimum timeout of a periodic heartbeat. If a request hangs, another one must still be in time.
	minBeatWait = 250 * time.Millisecond
	// maxLost is the number of lost attempts after which the worker gives up an activity. Without this limit, an activity
	// that crashes its worker would crash workers for ever.
	maxLost = 5
)

// Attempt sends the heartbeats of one activity attempt, and detects that Temporal has ended the attempt. The heartbeat details tell
// the next attempt what this attempt has done, for example how often it has called the model or the tool. An Attempt is safe for
// concurrent use. Create it with [Worker.Start].
//
// The SDK's own heartbeats ([activity.RecordHeartbeat]) are not used for this, for two reasons. They cancel the activity's
// context when the network fails for a second. They do not report whether Temporal has accepted the heartbeat.
type Attempt struct {
	worker *Worker
	ctx    context.Context
	info   activity.Info
	// tells says that the heartbeats report the partial text of a model call, or the output of a running tool.
	tells bool
	// copied says that a reset copied the activity from another run.
	copied bool
	// beating is the context in which heartbeats are sent. It ends when [Attempt.Stop] calls `stopped`, or when the context
	// of the attempt ends.
	beating context.Context
	stopped context.CancelFunc
	wait    sync.WaitGroup
	// over is closed when Temporal, or the stop of the worker, ends the attempt. The field `end` then has the reason. If the
	// activity returns first, the channel is not closed.
	over chan struct{}

	mu sync.Mutex
	// tried says what this attempt and earlier attempts have done.
	tried protocol.Progress
	end   ending
	// follows is the attempt that makes the model call or tool call, if this attempt only waits for the result. It is nil if
	// this attempt makes the call itself.
	follows *Attempt
	// contact is the start of the last request that Temporal has answered by saying that the attempt is alive. Before the first
	// such request, it is the time at which the attempt started.
	contact time.Time
	// told is the size of the text in the last heartbeat that Temporal has accepted: the field `Said` of [protocol.Progress].
	told int
}

// maxDoingBytes is the maximum size, in bytes, of the field `Doing` of [protocol.Progress].
const maxDoingBytes = 200

// maxProgressBytes is the maximum size, in bytes, of the field `Text` of [protocol.Progress]: the end of the reply that is arriving
// from the model, or of what a running tool has reported.
const maxProgressBytes = 2000

// Start begins to send heartbeats for the activity attempt whose context is ctx. They show that the attempt is alive. Start sends
// only two within the heartbeat timeout, because Temporal Cloud bills each heartbeat. If `tells` is true, it also sends one in each
// second in which the model call or the tool has reported new text. When the attempt ends, the caller must call [Attempt.Stop].
//
// `operation` is what the input of the activity says about earlier runs; nil if the activity is not an operation.
func (w *Worker) Start(ctx context.Context, tells bool, operation *protocol.Recall) *Attempt {
	info := activity.GetInfo(ctx)
	copied := operation != nil && operation.Run != "" && operation.Run != protocol.RunSuffix(info.WorkflowExecution.RunID)
	a := &Attempt{worker: w, ctx: ctx, info: info, tells: tells, copied: copied, over: make(chan struct{}), contact: time.Now()}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be decoded come from another version of the worker. The counts then start from zero.
		_ = activity.GetHeartbeatDetails(ctx, &a.tried)
		a.tried.Text, a.tried.Said = "", 0 // the text of an earlier attempt is discarded
	}
	// The process may have been suspended after Temporal started the attempt, so the start counts as the last contact. If the
	// clock of this machine is ahead of the server's, the contact seems older, and own sends an unnecessary heartbeat.
	if started := a.info.StartedTime; !started.IsZero() && started.Before(a.contact) {
		a.contact = a.contact.Add(-a.contact.Sub(started))
	}
	a.beating, a.stopped = context.WithCancel(ctx)
	w.calls.Add(1)
	a.wait.Go(a.beat)
	return a
}

// Key returns the ID of the activity, which is the key of the operation if the activity is one.
func (a *Attempt) Key() agent.Key { return agent.Key(a.info.ActivityID) }

// Info returns what the SDK knows about the attempt.
func (a *Attempt) Info() activity.Info { return a.info }

// Tells reports whether the heartbeats have the text of [Attempt.AddText].
func (a *Attempt) Tells() bool { return a.tells }

// beat sends heartbeats until the attempt ends or [Attempt.Stop] is called. Between two heartbeats it asks Temporal whether the attempt
// has ended: see [Attempt.look]. If the attempt's context ends, beat marks the attempt as ended: see [Attempt.finish].
func (a *Attempt) beat() {
	interval := a.info.HeartbeatTimeout / 2
	// due is the time of the next heartbeat, unless new text causes an earlier one. look is the time of the next call of [Attempt.look].
	due, look := time.Now().Add(interval), time.Now().Add(a.lookInterval())
	timer := time.NewTimer(a.untilNext(due, look))
	defer timer.Stop()
	if interval == 0 {
		timer.Stop() // the activity has no heartbeat timeout
	}
	for {
		select {
		case <-timer.C:
			// If Temporal has ended the attempt, look and record call finish. After any other error the attempt continues.
			ctx, cancel := context.WithTimeout(a.beating, max(a.info.HeartbeatTimeout/4, minBeatWait))
			switch now := time.Now(); {
			case !now.Before(due) || a.hasNews():
				due = now.Add(interval)
				if a.record(ctx) != nil {
					due = now.Add(interval / 4) // the next heartbeat follows soon
				}
				look = time.Now().Add(a.lookInterval())
			case !now.Before(look):
				a.look(ctx)
				look = time.Now().Add(a.lookInterval())
			}
			cancel()
			timer.Reset(a.untilNext(due, look))
		case <-a.over:
			return
		case <-a.beating.Done():
			if a.ctx.Err() == nil {
				return // stop was called
			}
			end := stopped
			switch {
			case a.timeIsUp() && a.copied:
				end = lost // the time limit has begun again, and another activity may need the result
			case temporal.IsCanceledError(context.Cause(a.ctx)), a.timeIsUp():
				end = cancelled
			}
			a.finish(end)
			return
		}
	}
}

// untilNext returns how long [Attempt.beat] waits. `due` is the time of the next heartbeat, and `look` is the time of the next call of
// [Attempt.look]. If the heartbeats report text, beat checks at least once a second whether there is new text.
func (a *Attempt) untilNext(due, look time.Time) time.Duration {
	wait := min(time.Until(due), time.Until(look))
	if a.tells {
		wait = min(wait, a.info.HeartbeatTimeout/3, textInterval)
	}
	return max(0, wait)
}

// hasNews reports whether the call has reported text since the last heartbeat that Temporal has accepted.
func (a *Attempt) hasNews() bool {
	if !a.tells {
		return false
	}
	said := a.Progress().Said
	a.mu.Lock()
	defer a.mu.Unlock()
	return said != a.told
}

// record sends a heartbeat and returns nil if Temporal has accepted it. If Temporal answers that the activity is cancelled, or
// that the attempt is unknown, record also marks the attempt as ended: see [Attempt.finish]. After any other error the attempt
// continues, because the usual reason is that Temporal could not be reached for a moment.
func (a *Attempt) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(a.info.HeartbeatTimeout/3, minHeartbeatWait))
	defer cancel()
	sent := time.Now()
	progress := a.Progress()
	err := a.worker.temporal.RecordActivityHeartbeat(ctx, a.info.TaskToken, progress)
	switch {
	case err == nil:
		a.mu.Lock()
		a.contact, a.told = sent, progress.Said
		a.mu.Unlock()
	case temporal.IsCanceledError(err):
		a.finish(cancelled)
		// The SDK reports an activity as cancelled only if one of the SDK's own heartbeats had that answer.
		activity.RecordHeartbeat(a.ctx, progress)
	case errors.As(err, new(*serviceerror.NotFound)):
		a.finish(a.whyGone())
	}
	return err
}

// own returns nil if Temporal still considers the attempt alive. Call it directly before a model call or tool call: an attempt
// that Temporal has given up must not make the call, because another attempt may make the same call. The error is not nil if
// the attempt has ended, or if Temporal does not answer.
//
// own asks Temporal by a heartbeat. It sends none, and the attempt counts as alive, if there is no heartbeat timeout, or if the
// last contact with Temporal is more recent than half of the heartbeat timeout. No other worker may have returned the call: see
// [presence.Presence.Confirm].
func (a *Attempt) own(ctx context.Context) error {
	if a.ended() != open || a.ctx.Err() != nil {
		return errors.New("this attempt of the activity has ended, because it was cancelled or lost, because its time is up, or because the worker is stopping; if the call is still needed, Temporal makes another attempt")
	}
	a.mu.Lock()
	contact := a.contact
	a.mu.Unlock()
	if timeout := a.info.HeartbeatTimeout; timeout > 0 && presence.Age(contact) >= timeout/2 {
		contact = time.Now()
		if err := a.record(ctx); err != nil {
			return err
		}
	}
	return a.worker.presence.Confirm(ctx, contact, a.owned)
}

// Lost returns how many earlier attempts of the activity ended without reporting an error. Usually, their workers crashed or
// lost contact with Temporal. An attempt also counts as lost if it failed before the activity's code ran, for example because
// its input could not be decoded.
func (a *Attempt) Lost() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, int(a.info.Attempt)-1-a.tried.Reported)
}

// TookWorkersDown reports whether the activity has to be given up because it crashes its workers. This is the case if at
// least [maxLost] attempts were lost, and the previous attempt ended with a heartbeat timeout or was returned with the calls of
// a lost worker. An attempt that a suspended worker has not begun does not take it down, and Temporal may give it many of them. If Temporal
// does not tell how the previous attempt ended, TookWorkersDown returns a retryable error.
func (a *Attempt) TookWorkersDown(ctx context.Context) (bool, error) {
	if a.Lost() < maxLost {
		return false, nil
	}
	run := a.info.WorkflowExecution
	found, err := a.worker.temporal.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return false, temporal.NewApplicationErrorWithOptions("describe the workflow: "+err.Error(), protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	}
	last := pending(found, a.info.ActivityID).GetLastFailure()
	return last.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT ||
		last.GetApplicationFailureInfo().GetType() == protocol.CallReturned, nil
}

// CheckLost returns an error if the activity has to be given up because it crashes its workers, or if Temporal does not answer:
// see [Attempt.TookWorkersDown]. `what` says what the activity did, in the past tense, such as "made this model call". It becomes part of
// the error text. An activity calls CheckLost before its own work, because any part of this work may crash the process.
func (a *Attempt) CheckLost(what string) error {
	down, err := a.TookWorkersDown(a.ctx)
	if err != nil || !down {
		return err
	}
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the worker was lost %d times while it %s: look at the workers' logs and memory, then resume the agent", a.Lost(), what), protocol.WorkerLost, nil)
}

// Describe sets the text that says what the activity does. The heartbeats contain the beginning of this text, on one line, and
// the Temporal Web UI shows it.
func (a *Attempt) Describe(doing string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Doing = clip.UTF8(strings.Join(strings.Fields(clip.UTF8(doing, 4*maxDoingBytes)), " "), maxDoingBytes)
}

// Try counts one more try of the activity's model call or tool call, and clears the partial text of the previous try. It
// returns the number of tries so far, including those of earlier attempts of the activity.
func (a *Attempt) Try() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Tried++
	a.tried.Text, a.tried.Said, a.told = "", 0, 0 // the text of an earlier try is discarded
	a.tried.Attempt = a.info.Attempt
	return a.tried.Tried
}

// Tries returns how often the model call or tool call was tried so far, including the tries of earlier attempts of the activity.
func (a *Attempt) Tries() int { return a.Progress().Tried }

// Repeats returns how often the model call was tried before the current try, and how many earlier attempts of the activity
// were lost: see [Attempt.Lost]. Each lost attempt counts as at least one try, because it may have tried the call without
// recording it.
func (a *Attempt) Repeats() agent.Repeats {
	lost := a.Lost()
	return agent.Repeats{Attempts: max(a.Tries()-1, lost), Lost: lost}
}

// CountReturn counts an attempt that ends without running the tool, because the tool must not run twice. It returns the number of such
// attempts so far, including this attempt.
func (a *Attempt) CountReturn() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Sought++
	return a.tried.Sought
}

// CountEmpty counts one more empty reply of the model and its token usage. It returns the totals of all attempts so far.
func (a *Attempt) CountEmpty(usage llm.Usage) agent.EmptyReplies {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Empty = a.tried.Empty.Add(usage)
	return a.tried.Empty
}

// Outage says that the model call has failed because of an outage, and returns how much of the time `retryFor` is left. The time begins
// with the first such failure of the call, on any worker. The heartbeats tell people until when the call is tried again.
func (a *Attempt) Outage(retryFor time.Duration) (left time.Duration) {
	now := time.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tried.FailingSince.IsZero() {
		a.tried.FailingSince = now
	}
	a.tried.RetryUntil = a.tried.FailingSince.Add(retryFor)
	return a.tried.RetryUntil.Sub(now)
}

// ClearText removes the text of [Attempt.AddText] so far, because another text takes its place. The next heartbeat comes soon, even if the
// other text is as long.
func (a *Attempt) ClearText() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Text, a.tried.Said, a.told = "", 0, -1
}

// AddText appends a piece of a streamed reply, or of the output of a running tool, to the text in the heartbeats. If the heartbeats
// do not report text, AddText does nothing.
func (a *Attempt) AddText(text string) {
	if !a.tells {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried.Said += len(text)
	// Keep twice the text that a heartbeat reports. With less, the limit could cut a secret, and the rest would not be redacted.
	const most = 2 * maxProgressBytes
	if text = a.tried.Text + text[max(0, len(text)-most):]; len(text) > most {
		text = text[len(text)-most:]
	}
	a.tried.Text = text
}

// textEnd returns the end of a text, at most [maxProgressBytes] bytes. It leaves out a character that is cut at the beginning or at
// the end. Other bytes that are not UTF-8 become U+FFFD.
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

// follow sets whose progress the heartbeats of this attempt report. If another attempt makes the model call or tool call, and
// this attempt only waits for the result, `running` is that other attempt. If this attempt makes the call itself, `running` is
// nil, and the heartbeats report the progress of this attempt.
func (a *Attempt) follow(running *Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.follows = running
}

// Progress returns the details for the next heartbeat, without secrets. If this attempt only waits for the result of another attempt, they
// are those of the other one.
func (a *Attempt) Progress() protocol.Progress {
	a.mu.Lock()
	own, follows := a.tried, a.follows
	a.mu.Unlock()
	if follows == nil {
		own.Text = textEnd(a.worker.redact(own.Text))
		return own
	}
	p := follows.Progress()
	p.Reported, p.Sought, p.Attempt = own.Reported, own.Sought, a.info.Attempt
	return p
}

// report tells Temporal, by a heartbeat, that the attempt is about to fail with the given error, so that the next attempt does
// not count this attempt as lost. It sends nothing if no attempt follows, because there is no error or the error is not retryable, or if
// Temporal has already ended the attempt.
func (a *Attempt) report(err error) {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); err == nil || ok && app.NonRetryable() {
		return
	}
	if a.ended() == lost || a.ended() == cancelled {
		return // Temporal accepts no more heartbeats of this attempt
	}
	a.mu.Lock()
	a.tried.Reported++
	a.mu.Unlock()
	_ = a.record(context.WithoutCancel(a.ctx)) // if this heartbeat fails, the attempt counts as lost
}

// Stop reports the error of the attempt, if there is one, and ends the heartbeats. It returns when no heartbeat is being sent any more.
func (a *Attempt) Stop(err error) {
	a.report(err)
	a.worker.calls.Add(-1)
	a.stopped()
	a.wait.Wait()
}
