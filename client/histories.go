package client

import (
	"context"
	"errors"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// History is the history of one run of an agent.
type History struct {
	// ID is the agent's ID, and RunID that of the run.
	ID, RunID string
	// Events are all events of the run, or those that an open run has until now. There is at least one.
	Events []*historypb.HistoryEvent
	// Converter decodes the payloads of the events.
	Converter converter.DataConverter
}

// Histories reads the histories of all runs that Temporal has of an agent ID: also those that a reset has ended, and those of earlier agents
// with the same ID. The order is that of Temporal's list. If there is none, the error wraps [ErrNotFound]. It needs no worker.
func (c *Client) Histories(ctx context.Context, id string) ([]History, error) {
	ids, err := history.Runs(ctx, c.temporal, id)
	if err != nil {
		return nil, wrap("list", id, err)
	}
	// Temporal's list is late. The newest run, and those that it goes on from, may be missing.
	switch found, err := c.describe(ctx, id); {
	case err == nil:
		ids = append(ids, found.runID)
	case !errors.Is(err, ErrNotFound) || len(ids) == 0:
		return nil, err
	}
	var all []History
	for i := 0; i < len(ids); i++ {
		if slices.Contains(ids[:i], ids[i]) {
			continue
		}
		h := History{ID: id, RunID: ids[i], Converter: c.converter}
		for event, err := range history.Events(ctx, c.temporal, agent.RunRef{ID: id, RunID: ids[i]}) {
			if errors.As(err, new(*serviceerror.NotFound)) {
				h.Events = nil // deleted
				break
			}
			if err != nil {
				return nil, wrap("read", id, err)
			}
			h.Events = append(h.Events, event)
			ids = append(ids, earlier(event)...)
		}
		if len(h.Events) > 0 {
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		return nil, notFoundError(id, "")
	}
	return all, nil
}

// earlier returns the runs that an event names as earlier runs of the same agent ID.
func earlier(e *historypb.HistoryEvent) []string {
	var ids []string
	for _, run := range []string{
		e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(), e.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(),
	} {
		if run != "" {
			ids = append(ids, run)
		}
	}
	return ids
}
