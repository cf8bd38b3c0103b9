package client

import (
	"context"
	"errors"
	"time"
)

const awaitPause = 250 * time.Millisecond

// Await returns the same snapshot of an agent as [Client.Describe]. If no worker answers, or Temporal does not answer, Await tries
// again until ctx ends. If the agent has ended, Await needs no worker.
//
// After each failed attempt, Await calls `see` with a [Progress] in which only `NoWorker` or `NoServer` is set, so that a program
// can tell its user what is missing. `see` may be nil.
//
// If the deadline of ctx passes, the error wraps [ErrNoWorker], or [ErrNoServer] if Temporal does not answer. If ctx is cancelled, the
// error wraps context.Cause(ctx).
func (c *Client) Await(ctx context.Context, id string, see func(Progress)) (Snapshot, error) {
	return c.Agent(id).Await(ctx, see)
}

// unanswered reports whether a later attempt may succeed, because a worker or Temporal did not answer.
func unanswered(err error) bool {
	return errors.Is(err, ErrNoWorker) || errors.Is(err, ErrNoServer) || unavailable(err)
}

// TaskQueue returns the name of an agent's task queue. The workers of this task queue run the agent.
func (c *Client) TaskQueue(ctx context.Context, id string) (string, error) {
	return c.Agent(id).TaskQueue(ctx)
}
