package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Memory is what the earlier runs of an agent say about a model call, a tool call or another activity.
type Memory struct {
	// Result is nil if no earlier run has a result of the activity.
	Result *commonpb.Payloads
	// Searched says that all earlier runs were searched, and that none of their histories is deleted. It says nothing if there is a
	// result, because the search ends at the first one.
	Searched bool
	// Doubt says that the call may have been made without a recorded result. Either another run scheduled the activity, or the history of
	// an earlier run is deleted. It says nothing if there is a result.
	Doubt bool
	// Cancelled says that an earlier run has cancelled the activity. That run may have told the model that there is no result.
	Cancelled bool
}

// Recall searches the earlier runs of the agent for a result of this activity, so that the model call or tool call need not be
// made again. `e` says whether an earlier run can have a result. If none can, Recall reads nothing and returns the zero Memory.
//
// Recall first follows the links from run to run in the histories. It asks Temporal for a list of all runs only if none of these
// runs has a result, because Temporal limits list requests for the whole namespace.
func (r *Reader) Recall(ctx context.Context, e protocol.Recall) (Memory, error) {
	info := activity.GetInfo(ctx)
	here, key := info.WorkflowExecution, agent.Key(info.ActivityID)
	// There are two reasons to search. If e.BaseRunID is set, the agent was reset or resumed. If e.Run is not the run of the activity,
	// another run scheduled the activity, and a reset copied it.
	again := e.Run != "" && e.Run != protocol.RunSuffix(here.RunID)
	if e.BaseRunID == "" && !again {
		return Memory{}, nil
	}
	m := Memory{Doubt: again, Searched: true}
	s := search{reader: r, agentID: here.ID, key: string(key), memory: &m, seen: map[string]bool{here.RunID: true}}
	bases, err := r.baseRuns(ctx, e)
	if err != nil {
		return Memory{}, err
	}
	if err := s.follow(ctx, bases); err != nil || m.Result != nil {
		return m, err
	}
	runs, err := r.earlier(ctx)
	if err != nil {
		return Memory{}, err
	}
	for _, run := range runs {
		if _, err := s.read(ctx, run, true); err != nil || m.Result != nil {
			return m, err
		}
	}
	return m, nil
}

type search struct {
	reader       *Reader
	agentID, key string // key is the ID of the activity
	memory       *Memory
	seen         map[string]bool // runs that were read, and the run of the activity
}

// follow searches the given base runs, and the runs to which they are linked: see [index]. It ends at the first result. If the
// history of a linked run is deleted, this is no reason for doubt, because Temporal's list does not show such a run either.
func (s *search) follow(ctx context.Context, bases []string) error {
	queue := bases
	for i := 0; i < len(queue) && s.memory.Result == nil; i++ {
		x, err := s.read(ctx, queue[i], i < len(bases))
		if err != nil {
			return err
		}
		if x != nil {
			queue = append(slices.Clip(queue), x.links...)
		}
	}
	return nil
}

// read searches one run, and returns its index. The index is nil if the run was searched before, or if its history is deleted.
// `known` says that the run has certainly existed, so that a deleted history is a reason for doubt.
func (s *search) read(ctx context.Context, run string, known bool) (*index, error) {
	if s.seen[run] {
		return nil, nil
	}
	x, err := s.reader.index(ctx, s.agentID, run)
	var at place
	asked := false
	if err == nil {
		at, asked = x.activities[s.key]
	}
	s.memory.Cancelled = s.memory.Cancelled || at.cancelled
	if at.event != 0 {
		s.memory.Result, err = s.reader.resultAt(ctx, s.agentID, run, x, at)
	}
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		if known {
			s.memory.Doubt, s.memory.Searched = true, false
		}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read a recorded result of run %s: %w", run, err)
	}
	s.seen[run], s.memory.Doubt = true, s.memory.Doubt || asked
	return x, nil
}

// baseRuns returns the IDs of the runs that the activity's run was reset from, the last one first, and of the run `e.BaseRunID`.
func (r *Reader) baseRuns(ctx context.Context, e protocol.Recall) ([]string, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	bases, err := r.bases(ctx, here.ID, here.RunID)
	if err != nil {
		return nil, fmt.Errorf("find the base runs of this run: %w", err)
	}
	bases = slices.Clone(bases)
	slices.Reverse(bases)
	if e.BaseRunID != "" && !slices.Contains(bases, e.BaseRunID) {
		bases = append(bases, e.BaseRunID)
	}
	return bases, nil
}

// earlierRuns returns the IDs of the runs whose states may have an outcome of a call. First come all other runs in Temporal's
// list of runs, newest first. Then come the base runs that the list lacks. The list is needed in any case, because a newer run
// may know more about the call than a base run: for example, an answer that came late.
func (r *Reader) earlierRuns(ctx context.Context, e protocol.Recall) ([]string, error) {
	runs, err := r.earlier(ctx)
	if err != nil {
		return nil, err
	}
	bases, err := r.baseRuns(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, base := range bases {
		if base != activity.GetInfo(ctx).WorkflowExecution.RunID && !slices.Contains(runs, base) {
			runs = append(runs, base)
		}
	}
	return runs, nil
}

// Decode decodes the result in a [Memory] into the variable to which `out` points. It returns false if the Memory has no
// result.
func (r *Reader) Decode(m Memory, out any) (bool, error) {
	if m.Result == nil {
		return false, nil
	}
	if err := r.converter.FromPayloads(m.Result, out); err != nil {
		return false, fmt.Errorf("decode a recorded result (all workers need the same data converter and codecs): %w", err)
	}
	return true, nil
}

// maxLineages limits the number of runs whose base runs are cached.
const maxLineages = 10_000

// bases returns the IDs of a run's base runs, that is, the runs that it was reset from, the last one last. It reads them from the
// history of the run, which is always up to date, and caches them, because the base runs of a run do not change. The callers
// share the slice, and must not modify it.
func (r *Reader) bases(ctx context.Context, workflowID, runID string) ([]string, error) {
	return flight.Do(ctx, &r.flights, "bases\n"+runID, func(ctx context.Context) ([]string, error) {
		if bases, ok := r.lineages.GetIfPresent(runID); ok {
			return bases, nil
		}
		bases, err := r.readBases(ctx, workflowID, runID)
		if err == nil {
			r.lineages.Set(runID, bases)
		}
		return bases, err
	})
}

func (r *Reader) readBases(ctx context.Context, workflowID, runID string) ([]string, error) {
	var bases []string
	for event, err := range history.Events(ctx, r.temporal, agent.RunRef{ID: workflowID, RunID: runID}) {
		if err != nil {
			return nil, err
		}
		if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	return bases, nil
}
