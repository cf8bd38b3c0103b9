package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Interrupt stops the running turn of an agent: its model call, its tool calls and the sub-agents that it waits for, which are
// cancelled. Sub-agents in the background keep working. The stopped calls get results that say so. The agent is then held until a
// message comes, with which the turn goes on. Interrupt returns when the agent has received the request, shortly before the calls
// end. It needs a running worker.
//
// The error wraps [ErrRefused] if no turn is running, and [ErrClosed] if the agent has ended.
//
// The audit trail names the user of this process. A program that interrupts for somebody else calls [Client.InterruptBy].
func (c *Client) Interrupt(ctx context.Context, id string) error { return c.InterruptBy(ctx, id, "") }

// InterruptBy is [Client.Interrupt] in the name of the person or program `by`, which has at most 200 bytes. Nothing proves it. Empty means the
// user of this process.
func (c *Client) InterruptBy(ctx context.Context, id, by string) error {
	return c.updateRun(ctx, id, nil, protocol.InterruptUpdate, func(run string) any {
		return agent.Interrupt{Run: run, Actor: stated(agent.Actor{By: by})}
	})
}

// Aside asks the model of an agent a question, and returns the answer. The model answers from the transcript so far, while the agent
// keeps working. The question and the answer do not enter the transcript, but their tokens and their cost count. Aside needs a
// running worker.
//
// The error wraps [ErrClosed] if the agent has ended, and [ErrRefused] in these cases:
//   - The question is empty or too long: see [agent.Aside].
//   - There is no conversation yet.
//   - The agent has used up its tokens or its cost, or has a limit of them and is answering another question aside.
//   - The model call fails, or the answer has no text.
func (c *Client) Aside(ctx context.Context, id, question string) (string, error) {
	var answer string
	err := c.updateRun(ctx, id, &answer, protocol.AsideUpdate, func(run string) any { return agent.Aside{Run: run, Question: question} })
	return answer, err
}

// updateRun is [Client.update] for an update that names the agent's newest run. After a reset, Temporal delivers the update to the new run,
// too, and that run refuses an update that names another run. `arg` makes the argument of the update from [protocol.RunSuffix] of the
// run's ID. If the agent has got a new run before the update arrives, updateRun sends another update, which names the new run.
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
