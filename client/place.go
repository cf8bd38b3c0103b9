package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// maxMoves limits how often deliver sends a steering message with a place. The agent refuses the message if it has passed that
// place meanwhile. After maxMoves refusals, deliver sends the message with After 0, which the agent never refuses for this
// reason.
const maxMoves = 20

// deliver sends a message to an agent, together with its place. The place is the run to which the message is sent and, for a
// steering message, the length of the transcript at which the message enters the turn. After a reset, Temporal delivers the
// message to the new run again. The place then makes the agent take the message at the same point as before.
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

// place returns the place of a message that is sent now: see [Client.deliver]. It returns zero values if a request fails. The
// update that the caller sends next then waits for a worker, or returns the error.
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
