package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// maxMoves limits how often deliver sends a steering message with the field After set. The agent refuses such a message if it
// has made progress since the client read After from it. After maxMoves refusals, deliver sends the message with After 0. The
// agent never refuses this message because of its progress.
const maxMoves = 20

// deliver sends a message to an agent, with two more fields. Run is the run to which the message is sent. After is set in a
// steering message only: it is the length that the transcript has when the message enters the turn. After a reset, Temporal
// delivers the message to the new run again. With these fields, the agent then takes the message at the same position in the
// transcript as before.
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

// place returns the values of the fields Run and After for a message that is sent now: see [Client.deliver]. If a request
// fails, place returns zero values and no error. In this case, the update that the caller sends next waits for a worker or
// returns the error.
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
