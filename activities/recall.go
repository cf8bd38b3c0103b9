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

// names reads the context of an activity. It returns the ID of the agent to which the activity belongs, and the activity's
// own ID, which is an [agent.Key].
func names(ctx context.Context) (agentID string, key agent.Key) {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID, agent.Key(info.ActivityID)
}

// memory is what the earlier runs of an agent say about an activity, for example about a model call or a tool call.
type memory struct {
	// result is nil if no earlier run has a result of the activity.
	result *commonpb.Payloads
	// searched says that all earlier runs were searched, and that none of their histories is deleted.
	searched bool
	// doubt says that the call may have been made without a recorded result. Either an earlier run started the activity and
	// has no result, or the history of an earlier run is deleted.
	doubt bool
}

// recall searches the earlier runs of the agent for a result of this activity. If there is one, the model call or tool call
// need not be made again. The [protocol.Effect] says whether an earlier run can have a result. If none can, recall reads
// nothing and returns the zero memory.
func (a *Activities) recall(ctx context.Context, e protocol.Effect) (memory, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	_, key := names(ctx)
	// There are two reasons to search. If e.Base is set, the agent was reset or resumed. If e.Run is not the run of the activity,
	// another run scheduled the activity, and a reset copied it.
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
			return memory{}, fmt.Errorf("read a recorded result of run %s: %w", run, err)
		case result != nil:
			return memory{result: result}, nil
		}
		m.doubt = m.doubt || asked
	}
	return m, nil
}

// earlierRuns returns the IDs of the runs whose results the activity may use. First come all other runs in Temporal's list
// of runs, newest first. Then come runs that the list may lack: those that this run was reset from, and the run `e.Base`.
func (a *Activities) earlierRuns(ctx context.Context, e protocol.Effect) ([]string, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	runs, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return nil, err
	}
	bases, err := a.bases(ctx, here.ID, here.RunID)
	if err != nil {
		return nil, fmt.Errorf("find the base runs of this run: %w", err)
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

// recalled decodes the result in the given memory into the variable to which `out` points. It returns false if the memory
// has no result. The memory comes from [Activities.recall].
func (a *Activities) recalled(m memory, out any) (bool, error) {
	if m.result == nil {
		return false, nil
	}
	if err := a.converter.FromPayloads(m.result, out); err != nil {
		return false, fmt.Errorf("decode a recorded result: %w", err)
	}
	return true, nil
}

// earlier returns the IDs of all runs of a workflow ID, except the activity's own run, whose ID is given. The newest run
// comes first.
//
// Temporal updates its list of runs late, by seconds if the cluster is busy. While the list lacks the activity's own run, it
// may lack earlier runs, too. The model calls and tool calls of these runs would be repeated. Therefore the error is
// retryable until the list has the activity's own run.
func (a *Activities) earlier(ctx context.Context, workflowID, runID string) ([]string, error) {
	return flight.Do(ctx, &a.flights, "list\n"+runID, func(ctx context.Context) ([]string, error) {
		if runs, ok := a.lists.GetIfPresent(runID); ok { // inside flight.Do: an earlier Do may just have filled the cache
			return runs, nil
		}
		runs, err := a.list(ctx, workflowID, runID)
		if err == nil { // the list stays complete, because no other run of the workflow ID starts while this run is open
			a.lists.Set(runID, runs)
		}
		return runs, err
	})
}

// list returns the same runs as [Activities.earlier], but does not use a cache.
func (a *Activities) list(ctx context.Context, workflowID, runID string) ([]string, error) {
	runs, err := history.Runs(ctx, a.temporal, workflowID)
	if err != nil {
		return nil, err
	}
	self := slices.Index(runs, runID)
	if self < 0 {
		return nil, notListed(history.ErrNotListed)
	}
	return slices.Clip(slices.Delete(runs, self, self+1)), nil // callers share the slice, and must not append to it in place
}

// notListed returns a retryable error with the text of the given error. Activities return it if Temporal's list of runs is
// not complete yet.
func notListed(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), protocol.Unavailable, temporal.ApplicationErrorOptions{NextRetryDelay: listDelay})
}

// listDelay is the retry delay in the errors that [notListed] returns.
const listDelay = 200 * time.Millisecond

// maxLineages is the maximum number of runs whose base runs are cached: see [Activities.bases].
const maxLineages = 10_000

// maxListed limits the size of the cache of run lists: see [Activities.earlier]. The size is the number of all cached run IDs
// plus the number of lists.
const maxListed = 200_000

// bases returns the IDs of a run's base runs, that is, the runs that the given run was reset from. It reads them from the
// history of the given run, which is always up to date. The result is cached, because the base runs of a run do not change.
func (a *Activities) bases(ctx context.Context, workflowID, runID string) ([]string, error) {
	return flight.Do(ctx, &a.flights, "bases\n"+runID, func(ctx context.Context) ([]string, error) {
		if bases, ok := a.lineages.GetIfPresent(runID); ok {
			return bases, nil
		}
		bases, err := a.readBases(ctx, workflowID, runID)
		if err == nil {
			a.lineages.Set(runID, bases)
		}
		return bases, err
	})
}

// readBases returns the same runs as [Activities.bases], but does not use a cache.
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
