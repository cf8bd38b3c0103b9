package client

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// Earlier returns the first `before` messages of an agent's transcript, including messages that were summarised. A [Snapshot]
// does not have these, so `before` is usually [Snapshot.First].
//
// Earlier reads the histories of the agent's earlier runs, which Temporal keeps for the retention period of the namespace. If a
// history is deleted, the error wraps [ErrNotFound].
func (c *Client) Earlier(ctx context.Context, id string, before int) ([]agent.Message, error) {
	_, run, err := c.newest(ctx, id)
	if err != nil {
		return nil, err
	}
	if run.State != nil {
		before = min(before, run.State.Count())
	}
	all := make([]agent.Message, max(before, 0))
	for {
		if run.State != nil && run.State.Dropped < before {
			copy(all[run.State.Dropped:before], run.State.Messages)
			before = run.State.Dropped
		}
		if before <= 0 {
			return all, nil
		}
		if run, err = c.previous(ctx, id, run); err != nil {
			return nil, err
		}
	}
}

// previous reads the run that the given run continues, resumes or forks. If there is no such run, the error wraps [ErrNotFound].
func (c *Client) previous(ctx context.Context, id string, run *history.Run) (*history.Run, error) {
	if run.Previous == nil {
		return nil, &agentError{fmt.Sprintf("the earlier messages of agent %q cannot be read, because the agent's first run does not have them", id), []error{ErrNotFound}}
	}
	return c.read(ctx, *run.Previous)
}
