package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// maxMoves limits how often a steering message is sent again because the agent passed its place before the message arrived. After that,
// the message is sent without a place.
const maxMoves = 20

// deliver sends a message with its place: the run to which it is sent and, for a steering message, the number of messages after which it
// enters. After a reset, Temporal delivers the message again. With the place, the agent takes the message at the same point as before.
func (c *Client) deliver(ctx context.Context, id string, out *workflows.Accepted, in agent.InboxMessage) error {
	for range maxMoves {
		in.Run, in.After = c.place(ctx, id, in.Steer)
		err := c.update(ctx, id, out, workflows.MessageUpdate, in)
		if moved, ok := errors.AsType[*temporal.ApplicationError](err); !ok || moved.Type() != workflows.Moved {
			return err
		}
	}
	in.After = 0
	return c.update(ctx, id, out, workflows.MessageUpdate, in)
}

// place returns the place of a message that is sent now: see [Client.deliver]. It returns zero values if it gets no answer. The update
// that follows then waits for a worker, or returns the error.
func (c *Client) place(ctx context.Context, id string, steer bool) (run string, after int) {
	if !steer {
		found, err := c.describe(ctx, id)
		if err != nil {
			return "", 0
		}
		return protocol.RunSuffix(found.runID), 0
	}
	view, err := c.State(ctx, id)
	if err != nil {
		return "", 0
	}
	return view.Run, view.Entry
}
