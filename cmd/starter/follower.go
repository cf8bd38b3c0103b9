package main

import (
	"context"
	"io"
	"time"

	"github.com/reagent-dev/reagent/client"
)

// follower shows a user what an agent does: its new messages, the partial text of the running model call, and why the agent does
// not go on. The commands run, resume, fork, send, tail and demo use it. Create it with newFollower.
type follower struct {
	id string
	// stdout and stderr write above the preview.
	stdout, stderr io.Writer
	words          *preview
	wait           *waitNotice
	// messages prints the agent's messages; nil prints none.
	messages *transcriptPrinter
}

// newFollower returns a follower of the agent with that ID. The parameter queue is the agent's task queue. The parameter limit is
// how long the command waits for a worker to answer; 0 means no limit. The parameter live says that partial text may be shown,
// which also needs a terminal. The caller must call end.
func newFollower(stdout, stderr io.Writer, queue, id string, limit time.Duration, live bool) *follower {
	words := newPreview(stdout, live)
	f := &follower{id: id, words: words, stdout: words.beside(stdout), stderr: words.beside(stderr)}
	f.wait = newWaitNotice(f.stderr, queue, limit)
	f.wait.id, f.wait.live = id, words
	f.messages = newTranscriptPrinter(f.stdout)
	return f
}

// end removes the preview and ends the reports. It may be called several times.
func (f *follower) end() {
	f.wait.stop()
	f.words.end()
}

// see must be called with every [client.Progress] that [client.Client.Watch] yields.
func (f *follower) see(p client.Progress) {
	f.wait.update(p)
	if p.Message != nil && f.messages != nil {
		f.messages.message(*p.Message)
	}
}

// watch shows the agent until it waits, is held or has ended, and returns this status. If no worker answers for the time
// f.wait.limit, the error is [client.ErrNoWorker]. Every progress without NoWorker starts this time again, even a progress with
// NoServer: while Temporal does not answer, it is not known whether a worker is missing.
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
		if !p.NoWorker {
			answered()
		}
		f.see(p)
		if p.Status != "" && p.Status != client.Running {
			return p.Status, nil
		}
	}
	return "", context.Cause(ctx)
}
