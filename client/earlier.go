package client

import (
	"context"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// Earlier returns the messages of an agent that it does not hold any more, because they were
// summarised: those before the given place. They are read from the histories of its earlier runs, which Temporal keeps
// for the namespace's retention.
func (c *Client) Earlier(ctx context.Context, id string, before int) ([]agent.Message, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	if err != nil {
		return nil, err
	}
	all := make([]agent.Message, before)
	for before > 0 {
		if run.State != nil && run.State.Dropped < before {
			copy(all[run.State.Dropped:before], run.State.Messages)
			before = run.State.Dropped
		}
		if before == 0 {
			break
		}
		if run, err = c.previous(ctx, run); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// previous returns the run from which another one goes on.
func (c *Client) previous(ctx context.Context, run *history.Run) (*history.Run, error) {
	if run.Previous == nil {
		return nil, &agentError{"the earlier messages of the agent are gone: it has no earlier run", []error{ErrNotFound}}
	}
	return c.read(ctx, *run.Previous)
}
