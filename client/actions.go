package client

import (
	"context"
	"errors"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// Actions estimates how many actions Temporal Cloud bills for an agent. It reads the histories of the newest run and of the earlier
// runs that Temporal still has, and needs no worker. It does not count the actions of sub-agents, and of runs that a reset has ended.
// See [history.Actions] for what a history does not show.
func (c *Client) Actions(ctx context.Context, id string) (history.Actions, error) {
	var sum history.Actions
	found, err := c.describe(ctx, id)
	if err != nil {
		return sum, err
	}
	for run := found.runID; run != ""; {
		var events []*historypb.HistoryEvent
		for event, err := range history.Events(ctx, c.temporal, agent.RunRef{ID: id, RunID: run}) {
			if sum != (history.Actions{}) && errors.As(err, new(*serviceerror.NotFound)) {
				return sum, nil // Temporal has deleted the earlier run
			}
			if err != nil {
				return sum, wrap("read", id, err)
			}
			events = append(events, event)
		}
		sum = sum.Add(history.CountActions(events))
		begun, err := history.Of(id, run, events[:min(len(events), 1)], c.converter) // the first event names the earlier run
		if err != nil {
			return sum, wrap("read", id, err)
		}
		if run = ""; begun.Previous != nil && begun.Previous.ID == id {
			run = begun.Previous.RunID
		}
	}
	return sum, nil
}
