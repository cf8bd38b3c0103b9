package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Interrupt stops the running turn of an agent: its model call, its tool calls and its running sub-agents. The calls get results that
// say so, and the agent waits for a message, with which the turn goes on. Sub-agents are cancelled. Interrupt returns when the agent
// has received the request; the calls end shortly after. It needs a running worker.
//
// The error wraps [ErrRefused] if no turn runs, and [ErrClosed] if the agent has ended.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	var err error
	for range maxMoves {
		found, gone := c.describe(ctx, id)
		if gone != nil {
			return gone
		}
		request := agent.Interrupt{Run: protocol.RunSuffix(found.runID), By: person(), From: machine()}
		err = c.update(ctx, id, nil, protocol.InterruptUpdate, request)
		if moved, ok := errors.AsType[*temporal.ApplicationError](err); !ok || moved.Type() != protocol.Moved || !sleep(ctx, minPause) {
			return err
		}
	}
	return err
}
