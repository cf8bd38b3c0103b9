package main

import (
	"context"
	"io"
	"time"

	"github.com/reagent-dev/reagent/client"
)

// follower shows a user what an agent does: its new messages, and the text of the running model call so far. It also says why
// the agent does not go on. The commands `run`, `resume`, `fork`, `send`, `tail` and `demo` of the starter use a follower.
// [newFollower] creates one.
type follower struct {
	id string
	// stdout and stderr write above the preview.
	stdout, stderr io.Writer
	words          *preview
	wait           *waitNotice
	// messages prints the agent's messages; nil prints none.
	messages *transcriptPrinter
	// asked is the time at which [follower.askText] last asked for partial text.
	asked time.Time
}

// textTime is the time for which [follower.askText] asks for partial text.
const textTime = 10 * time.Minute

// askText asks the agent to report the partial text of its replies for the time [textTime]. It does so only if the follower shows
// partial text and the agent is working, because Temporal Cloud bills the request. It sends the next request shortly before the time
// of the last request ends.
func (f *follower) askText(ctx context.Context, c *client.Client, p client.Progress) {
	if f.words == nil || p.Status != client.Running || time.Since(f.asked) < textTime*9/10 {
		return
	}
	f.asked = time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_ = c.RequestPartialText(ctx, f.id, textTime) // without the text, the command shows the complete messages
	}()
}

// newFollower returns a follower of the agent with the given ID and task queue. The command waits for a worker to answer, at
// most for the time `limit`; 0 means no limit. If `live` is set and standard output is a terminal, the follower also shows
// the text of the running model call. The caller must call [follower.end].
func newFollower(stdout, stderr io.Writer, queue, id string, limit time.Duration, live bool) *follower {
	words := newPreview(stdout, live)
	f := &follower{id: id, words: words, stdout: words.beside(stdout), stderr: words.beside(stderr)}
	f.wait = newWaitNotice(f.stderr, queue, limit)
	f.wait.id, f.wait.live = id, words
	f.messages = newTranscriptPrinter(f.stdout)
	return f
}

// silent reports whether a report says nothing about the agent, because the agent has no state yet.
func silent(p client.Progress) bool {
	return p.Message == nil && p.Status == "" && p.Retry == nil && !p.Rewound && !p.NoWorker && !p.NoServer
}

// end ends the output about the agent. It must be called when the command no longer follows the agent. It removes the text of
// the running model call from the terminal. It also stops the timer that reports a missing worker. It may be called several
// times.
func (f *follower) end() {
	f.wait.stop()
	f.words.end()
}

// see shows the user one report about the agent's progress. It must be called with every [client.Progress] that
// [client.Client.Watch] yields.
func (f *follower) see(p client.Progress) {
	f.wait.update(p)
	if p.Message != nil && f.messages != nil {
		f.messages.message(*p.Message)
	}
}

// watch shows the agent to the user until the agent waits, has ended, or is held (stopped by a failure; see [client.Held]).
// It returns the agent's status. If no worker answers for the time `f.wait.limit`, or none that has the agent, the model or
// the tool, the error is [client.ErrNoWorker]. This time starts again when a worker answers. It also starts again while Temporal does not answer, because nobody can then see
// whether a worker is missing.
func (f *follower) watch(ctx context.Context, c *client.Client) (client.Status, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	answered := func() {}
	if limit := f.wait.limit; limit > 0 {
		timer := time.AfterFunc(limit, func() { end(client.ErrNoWorker) })
		defer timer.Stop()
		answered = func() { timer.Reset(limit) }
	}
	for p, err := range c.Watch(ctx, f.id, 0) {
		if err != nil {
			return "", err
		}
		if !p.NoWorker && !silent(p) && (p.Retry == nil || !p.Retry.Unserved()) {
			answered()
		}
		f.see(p)
		f.askText(ctx, c, p)
		if p.Rests() {
			return p.Status, nil
		}
	}
	return "", context.Cause(ctx)
}
