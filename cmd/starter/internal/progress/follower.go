// Package progress shows a person what an agent does while it does it, and why it does not go on.
package progress

import (
	"context"
	"io"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
)

// Follower shows a user what an agent does: its new messages, and the text of the running model call so far. It also says why
// the agent does not go on. The commands `run`, `resume`, `fork`, `send`, `tail` and `demo` of the starter use a follower.
// [NewFollower] creates one.
type Follower struct {
	id string
	// Stdout and Stderr write above the preview.
	Stdout, Stderr io.Writer
	words          *preview
	// Wait says why the agent does not go on.
	Wait *Notice
	// Messages prints the agent's messages; nil prints none.
	Messages *Transcript
	// UntilAsked lets [Follower.Watch] return also when calls wait for somebody outside.
	UntilAsked bool
	// Asked is the time at which [Follower.AskText] last asked for partial text.
	Asked time.Time
}

const textTime = 10 * time.Minute

// AskText asks the agent to report the partial text of its replies for the time [textTime]. It does so only if the follower shows
// partial text and the agent is working, because Temporal Cloud bills the request. It sends the next request shortly before the time
// of the last request ends.
func (f *Follower) AskText(ctx context.Context, c *client.Client, p client.Progress) {
	if f.words == nil || p.Status != client.Running || time.Since(f.Asked) < textTime*9/10 {
		return
	}
	f.Asked = time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_ = c.RequestPartialText(ctx, f.id, textTime) // without the text, the command shows the complete messages
	}()
}

// NewFollower returns a follower of the agent with the given ID and task queue. The command waits for a worker to answer, at
// most for the time `limit`; 0 means no limit. On a terminal, it renders the Markdown of replies, and if `live` is set, it also shows the text
// of the running model call. The caller must call [Follower.End].
func NewFollower(stdout, stderr io.Writer, queue, id string, limit time.Duration, live bool) *Follower {
	words := newPreview(stdout, live)
	f := &Follower{id: id, words: words, Stdout: words.beside(stdout), Stderr: words.beside(stderr)}
	f.Wait = NewNotice(f.Stderr, queue, limit)
	f.Wait.ID, f.Wait.live = id, words
	f.Messages = NewTranscript(words.beside(screen.Raw(stdout)), screen.Prose(stdout))
	return f
}

// ShowsText reports whether the follower shows the text of a running model call.
func (f *Follower) ShowsText() bool { return f.words != nil }

func silent(p client.Progress) bool {
	return p.Message == nil && p.Status == "" && p.Retry == nil && !p.Rewound && !p.NoWorker && !p.NoServer
}

// End ends the output about the agent. It must be called when the command no longer follows the agent. It removes the text of
// the running model call from the terminal. It also stops the timer that reports a missing worker. It may be called several
// times.
func (f *Follower) End() {
	f.Wait.Stop()
	f.words.end()
}

// See shows the user one report about the agent's progress. It must be called with every [client.Progress] that
// [client.Client.Watch] yields.
func (f *Follower) See(p client.Progress) {
	f.Wait.Update(p)
	if p.Message != nil && f.Messages != nil {
		f.Messages.Message(*p.Message)
	}
}

// Watch shows the agent to the user until the agent waits for a message, has ended, or is held (see [client.Held]). It returns the agent
// as it is then: see [client.Progress].Snapshot. If `f.UntilAsked` is set, it also returns when calls of the agent or of its sub-agents wait
// for somebody outside. They are in the field Waiting.
//
// The error is [client.ErrNoWorker] if for the time `f.Wait.Limit` no worker answers, or none that has the agent, the model or the tool. This
// time starts again when a worker answers, and while Temporal does not answer, because nobody can then see whether a worker is missing. It
// does not run while the agent waits for somebody, because the agent then needs no worker.
func (f *Follower) Watch(ctx context.Context, c *client.Client) (client.Snapshot, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	answered := func(client.Status) {}
	if limit := f.Wait.Limit; limit > 0 {
		timer := time.AfterFunc(limit, func() { end(client.ErrNoWorker) })
		defer timer.Stop()
		answered = func(now client.Status) {
			if now == client.Waiting {
				timer.Stop()
			} else {
				timer.Reset(limit)
			}
		}
	}
	see := func(p client.Progress) {
		if !p.NoWorker && !silent(p) && (p.Retry == nil || !p.Retry.Unserved()) {
			answered(p.Status)
		}
		f.See(p)
		f.AskText(ctx, c, p)
	}
	if f.UntilAsked {
		return c.Reply(ctx, f.id, "", 0, see)
	}
	for p, err := range c.Watch(ctx, f.id, 0) {
		if err != nil {
			return client.Snapshot{}, err
		}
		if see(p); p.Rests() {
			return *p.Snapshot, nil
		}
	}
	return client.Snapshot{}, context.Cause(ctx)
}
