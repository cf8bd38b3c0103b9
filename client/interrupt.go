package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Interrupt stops the running turn of an agent: its model call, its tool calls and the sub-agents that it waits for. The calls get
// results that say so, and the agent waits for a message, with which the turn goes on. These sub-agents are cancelled; those in the
// background go on. Interrupt returns when the agent has received the request; the calls end shortly after. It needs a running worker.
//
// The error wraps [ErrRefused] if no turn runs, and [ErrClosed] if the agent has ended.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.updateRun(ctx, id, nil, protocol.InterruptUpdate, func(run string) any {
		return agent.Interrupt{Run: run, By: person(), From: machine()}
	})
}

// Aside asks the model of an agent a question, and returns the answer. The model answers from the transcript so far, while the agent
// works on. The question and the answer do not enter the transcript; the tokens and the cost count. It needs a running worker.
//
// The error wraps [ErrRefused] if there is no conversation yet, if the agent has used up its tokens or its cost, or if the model call
// fails, and [ErrClosed] if the agent has ended.
func (c *Client) Aside(ctx context.Context, id, question string) (string, error) {
	var answer string
	err := c.updateRun(ctx, id, &answer, protocol.AsideUpdate, func(run string) any { return agent.Aside{Run: run, Question: question} })
	return answer, err
}

// updateRun is [Client.update] for an update that is only for the newest run: after a reset, the new run refuses it. `arg` makes the
// argument of the update from the end of the run's ID.
func (c *Client) updateRun(ctx context.Context, id string, out any, name string, arg func(run string) any) error {
	var err error
	for range maxMoves {
		found, gone := c.describe(ctx, id)
		if gone != nil {
			return gone
		}
		err = c.update(ctx, id, out, name, arg(protocol.RunSuffix(found.runID)))
		if moved, ok := errors.AsType[*temporal.ApplicationError](err); !ok || moved.Type() != protocol.Moved || !sleep(ctx, minPause) {
			return err
		}
	}
	return err
}
