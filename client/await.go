package client

import (
	"context"
	"errors"
	"time"
)

// awaitPause is the pause between two questions of [Client.Await].
const awaitPause = 250 * time.Millisecond

// Await returns where an agent stands, as [Client.Look] does, as soon as a worker answers for it. While none does it tells see,
// which may be nil, and asks again until ctx ends; the error is [ErrNoWorker] where ctx ended because its time had passed.
func (c *Client) Await(ctx context.Context, id string, see func(Progress)) (Look, error) {
	for {
		look, err := c.Look(ctx, id)
		switch {
		case err == nil:
			return look, nil
		case ctx.Err() != nil:
			return Look{}, c.wrapUnanswered(ctx, "ask", id, context.Cause(ctx))
		case !unanswered(err):
			return Look{}, err
		}
		if see != nil {
			down := c.temporalIsDown(ctx)
			see(Progress{NoServer: down, NoWorker: !down})
		}
		if !sleep(ctx, awaitPause) {
			return Look{}, c.wrapUnanswered(ctx, "ask", id, context.Cause(ctx))
		}
	}
}

// unanswered reports whether err says that no worker, or Temporal itself, has answered.
func unanswered(err error) bool {
	return errors.Is(err, ErrNoWorker) || errors.Is(err, ErrNoServer) || unavailable(err)
}

// TaskQueue returns the name of the task queue of an agent's newest run.
func (c *Client) TaskQueue(ctx context.Context, id string) (string, error) {
	found, err := c.describe(ctx, id)
	return found.queue, err
}
