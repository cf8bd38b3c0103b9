package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// maxMoves limits how often a message is sent again because the agent went on before the message arrived. After that, the
// message is sent without its place.
const maxMoves = 20

// deliver sends a message with its place: the run to which it is sent and, where it steers, the number of messages behind
// which it enters. Temporal delivers a message again after a reset; with its place the agent takes the same way again.
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

// place returns where a message would enter that is sent now. It returns nothing where nobody can tell: the update
// waits for a worker, and says what is wrong with the agent.
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
