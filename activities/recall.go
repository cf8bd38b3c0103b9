package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/protocol"
)

// names returns the ID of the agent for which an activity runs, and the key of the activity's effect.
func names(ctx context.Context) (agentID string, key agent.Key) {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID, agent.Key(info.ActivityID)
}

// memory is what the earlier runs of an agent tell of an effect.
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
	runs, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return memory{}, err
	}
	bases, err := a.bases(ctx, here.ID, here.RunID)
	if err != nil {
		return memory{}, fmt.Errorf("recall: %w", err)
	}
	if e.Base != "" {
		bases = append(slices.Clip(bases), e.Base)
	}
	for _, base := range bases {
		if base != here.RunID && !slices.Contains(runs, base) {
			runs = append(runs, base)
		}
	}
	m := memory{doubt: again, searched: true}
	for _, run := range runs {
		r, err := a.records(ctx, here.ID, run)
		var gone *serviceerror.NotFound
		switch {
		case errors.As(err, &gone):
			m.doubt, m.searched = true, false
			continue
		case err != nil:
			return memory{}, fmt.Errorf("recall: run %s: %w", run, err)
		}
		if result := r.results[string(key)]; result != nil {
			return memory{result: result}, nil
		}
		m.doubt = m.doubt || r.asked[string(key)]
	}
	return m, nil
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
func (a *Activities) earlier(ctx context.Context, workflowID, runID string) ([]string, error) {
	runs, err := history.Runs(ctx, a.temporal, workflowID)
	if err != nil {
		return nil, err
	}
	self := slices.Index(runs, runID)
	if self < 0 {
		return nil, notListed(history.ErrNotListed)
	}
	return slices.Delete(runs, self, self+1), nil
}

// notListed is the failure of an activity that needs the list of runs before it is complete.
func notListed(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), protocol.Unavailable, temporal.ApplicationErrorOptions{NextRetryDelay: listDelay})
}

// listDelay is how soon the list of runs is asked for again.
const listDelay = 200 * time.Millisecond

// maxLineages bounds the runs of which a worker remembers from which they were reset.
const maxLineages = 10_000

// bases returns the runs that a run was reset from, by its own history, which never lags behind. They are read once
// for each worker: what comes after the reset changes them no more.
func (a *Activities) bases(ctx context.Context, workflowID, runID string) ([]string, error) {
	if bases, ok := a.lineages.GetIfPresent(runID); ok {
		return bases, nil
	}
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
	a.lineages.Set(runID, bases)
	return bases, nil
}

// records is what one run did.
type records struct {
	results map[string]*commonpb.Payloads // by activity ID
	asked   map[string]bool
	size    int
}

// records reads a run's history, once for each worker: a run that has ended changes no more.
func (a *Activities) records(ctx context.Context, workflowID, runID string) (records, error) {
	if r, ok := a.runs.GetIfPresent(runID); ok {
		return r, nil
	}
	r := records{results: map[string]*commonpb.Payloads{}, asked: map[string]bool{}}
	names := map[int64]string{}
	ended := false
	events := a.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return records{}, err
		}
		r.add(event, names)
		ended = history.Closes(event.GetEventType())
	}
	if ended {
		a.runs.Set(runID, r)
	}
	return r, nil
}

func (r *records) add(event *historypb.HistoryEvent, names map[int64]string) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		id := event.GetActivityTaskScheduledEventAttributes().GetActivityId()
		names[event.GetEventId()] = id
		r.asked[id] = true
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		done := event.GetActivityTaskCompletedEventAttributes()
		r.results[names[done.GetScheduledEventId()]] = done.GetResult()
		for _, p := range done.GetResult().GetPayloads() {
			r.size += 200 + len(p.GetData())
		}
	}
}

// newRuns makes the cache of what earlier runs did.
func newRuns(bytes int) (*otter.Cache[string, records], error) {
	return otter.New(&otter.Options[string, records]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ string, r records) uint32 { return uint32(r.size + 100*len(r.asked)) },
	})
}
