package client

import (
	"context"
	"errors"
	"time"
)

// awaitPause is the pause between two requests of [Client.Await].
const awaitPause = 250 * time.Millisecond

// Await returns a snapshot of an agent, as [Client.Look] does. While no worker answers, or Temporal does not answer, Await
// repeats the request until ctx ends. If ctx ends because its deadline has passed, the error is [ErrNoWorker], or
// [ErrNoServer] if Temporal does not answer. If the agent has ended, Await needs no worker.
//
// Before each repeated request, Await passes a [Progress] to the function in the parameter see, unless this function is nil.
// In the [Progress], only NoWorker or NoServer is set.
func (c *Client) Await(ctx context.Context, id string, see func(Progress)) (Snapshot, error) {
	for {
		snap, err := c.Look(ctx, id)
		switch {
		case err == nil:
			return snap, nil
		case ctx.Err() != nil:
			return Snapshot{}, c.wrapUnanswered(ctx, "ask", id, context.Cause(ctx))
		case !unanswered(err):
			return Snapshot{}, err
		}
		if see != nil {
			down := c.temporalIsDown(ctx)
			see(Progress{NoServer: down, NoWorker: !down})
		}
		if !sleep(ctx, awaitPause) {
			return Snapshot{}, c.wrapUnanswered(ctx, "ask", id, context.Cause(ctx))
		}
	}
}

// unanswered reports whether err says that no worker answered, or that Temporal did not answer.
func unanswered(err error) bool {
	return errors.Is(err, ErrNoWorker) || errors.Is(err, ErrNoServer) || unavailable(err)
}

// TaskQueue returns the name of the task queue of an agent's newest run.
func (c *Client) TaskQueue(ctx context.Context, id string) (string, error) {
	found, err := c.describe(ctx, id)
	return found.queue, err
}
