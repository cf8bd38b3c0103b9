package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// maxMoves limits how often deliver sends a steering message whose field After is set. The agent refuses such a message if it
// has made progress since the client requested the value of After. After maxMoves refusals, deliver sets the field After to 0
// and sends the message again. The agent never refuses a message because of its progress if this field is 0.
const maxMoves = 20

// deliver sets the fields Run and After of a message and sends the message to an agent. Run is the end of the ID of the run
// that gets the message. After is set in a steering message only: it is the length that the transcript has when the message
// enters the turn.
//
// After a reset, Temporal delivers the message again, to the new run. From the two fields, the new run knows at which
// position in the transcript the agent took the message before the reset, and takes it at the same position.
func (c *Client) deliver(ctx context.Context, id string, out *protocol.Accepted, in agent.InboxMessage) error {
	for range maxMoves {
		in.Run, in.After = c.place(ctx, id, in.Steer)
		err := c.update(ctx, id, out, protocol.MessageUpdate, in)
		if moved, ok := errors.AsType[*temporal.ApplicationError](err); !ok || moved.Type() != protocol.Moved {
			return err
		}
	}
	in.After = 0
	return c.update(ctx, id, out, protocol.MessageUpdate, in)
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
	view, err := c.state(ctx, id)
	if err != nil {
		return "", 0
	}
	return view.Run, view.Entry
}
