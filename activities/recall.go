package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/protocol"
)

// names returns the ID of the agent for which an activity runs, and the key of the activity's effect.
func names(ctx context.Context) (agentID string, key agent.Key) {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID, agent.Key(info.ActivityID)
}

// memory is the knowledge of the earlier runs about an effect.
type memory struct {
	result *commonpb.Payloads // nil where there is none
	// searched says that earlier runs were looked through, and that none of their histories is gone.
	searched bool
	// doubt says that the effect was asked for and has no result, or that the history
	// that would tell is gone.
	doubt bool
}

// recall looks for an effect in the earlier runs of the workflow. An ordinary run
// reads nothing.
func (a *Activities) recall(ctx context.Context, e protocol.Effect) (memory, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	_, key := names(ctx)
	again := e.Run != "" && e.Run != protocol.RunSuffix(here.RunID)
	if e.Base == "" && !again {
		return memory{}, nil
	}
	runs, err := a.earlierRuns(ctx, e)
	if err != nil {
		return memory{}, err
	}
	m := memory{doubt: again, searched: true}
	for _, run := range runs {
		result, asked, err := a.resultOf(ctx, here.ID, run, string(key))
		switch {
		case errors.As(err, new(*serviceerror.NotFound)):
			m.doubt, m.searched = true, false
			continue
		case err != nil:
			return memory{}, fmt.Errorf("recall: run %s: %w", run, err)
		case result != nil:
			return memory{result: result}, nil
		}
		m.doubt = m.doubt || asked
	}
	return m, nil
}

// earlierRuns returns the IDs of the runs whose results count in the run of the activity, newest first.
func (a *Activities) earlierRuns(ctx context.Context, e protocol.Effect) ([]string, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	runs, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return nil, err
	}
	bases, err := a.bases(ctx, here.ID, here.RunID)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if e.Base != "" {
		bases = append(slices.Clip(bases), e.Base)
	}
	for _, base := range bases {
		if base != here.RunID && !slices.Contains(runs, base) {
			runs = append(runs, base)
		}
	}
	return runs, nil
}

// recalled decodes a result that was recalled, if there is one.
func (a *Activities) recalled(m memory, out any) (bool, error) {
	if m.result == nil {
		return false, nil
	}
	if err := a.converter.FromPayloads(m.result, out); err != nil {
		return false, fmt.Errorf("recall: %w", err)
	}
	return true, nil
}

// earlier lists the other runs of a workflow ID, newest first: those that this one was
// reset or continued from, and those that were reset from the same one.
//
// Temporal's list lags behind, by seconds where a cluster is busy, and a run that is missing in it would be done over.
// So it counts from when it shows this run itself, which began after the others.
// Then it is kept: as long as a run lives no other one begins.
func (a *Activities) earlier(ctx context.Context, workflowID, runID string) ([]string, error) {
	if runs, ok := a.lists.GetIfPresent(runID); ok {
		return runs, nil
	}
	return flight.Do(ctx, &a.flights, "list\n"+runID, func(ctx context.Context) ([]string, error) {
		runs, err := a.list(ctx, workflowID, runID)
		if err == nil {
			a.lists.Set(runID, runs)
		}
		return runs, err
	})
}

func (a *Activities) list(ctx context.Context, workflowID, runID string) ([]string, error) {
	runs, err := history.Runs(ctx, a.temporal, workflowID)
	if err != nil {
		return nil, err
	}
	self := slices.Index(runs, runID)
	if self < 0 {
		return nil, notListed(history.ErrNotListed)
	}
	return slices.Clip(slices.Delete(runs, self, self+1)), nil // it is shared, so nobody may append in place
}

// notListed is the failure of an activity that needs the list of runs before it is complete.
func notListed(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), protocol.Unavailable, temporal.ApplicationErrorOptions{NextRetryDelay: listDelay})
}

// listDelay is the time after which the list of runs is asked for again.
const listDelay = 200 * time.Millisecond

// maxLineages bounds the runs of which a worker remembers from which they were reset.
const maxLineages = 10_000

// maxListed bounds the runs in the lists that a worker remembers, of all agents together.
const maxListed = 200_000

// bases returns the runs that a run was reset from, by its own history, which never lags behind. They are read once
// for each worker: what comes after the reset changes them no more.
func (a *Activities) bases(ctx context.Context, workflowID, runID string) ([]string, error) {
	if bases, ok := a.lineages.GetIfPresent(runID); ok {
		return bases, nil
	}
	return flight.Do(ctx, &a.flights, "bases\n"+runID, func(ctx context.Context) ([]string, error) {
		bases, err := a.readBases(ctx, workflowID, runID)
		if err == nil {
			a.lineages.Set(runID, bases)
		}
		return bases, err
	})
}

func (a *Activities) readBases(ctx context.Context, workflowID, runID string) ([]string, error) {
	var bases []string
	events := a.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	return bases, nil
}
