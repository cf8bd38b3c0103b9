package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// FindCall searches the earlier runs of the agent for what they have recorded about one call, so that the agent does not make the call
// again. It begins with the newest run, and adds what older runs know more: see [agent.CallRecord.Join]. If no run has a result, the field
// `Phase` says whether the call or its sub-agent may have begun. FindCall skips a run whose history is deleted. For a run whose history
// cannot be read, see [recallAttempts].
func (r *Reader) FindCall(ctx context.Context, in protocol.FindCallInput) (protocol.FoundCall, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	out := protocol.FoundCall{Run: protocol.RunSuffix(here.RunID)}
	runs, err := r.earlierRuns(ctx, in.Recall)
	if err != nil {
		return out, err
	}
	for _, run := range runs {
		s, err := r.stateWith(ctx, agent.RunRef{ID: here.ID, RunID: run}, in.Call)
		if err != nil {
			return out, fmt.Errorf("read the recorded result of a call from run %s: %w", run, err)
		}
		if s == nil {
			continue
		}
		var more bool
		if out.CallRecord, more = out.Join(s.CallRecord(in.Call)); !more {
			break
		}
	}
	return out, nil
}

// Told returns what an earlier run told the model about this activity's tool call, although the call had no result: for example,
// that a person had interrupted it. It returns nil if there is no such run. The model went on from there, and a run that tells it
// something else would do again what followed.
func (r *Reader) Told(ctx context.Context, e protocol.Recall) (*agent.Result, error) {
	info := activity.GetInfo(ctx)
	runs, err := r.earlierRuns(ctx, e)
	if err != nil {
		return nil, err
	}
	call := agent.Call{Key: agent.Key(info.ActivityID)}
	for _, run := range runs {
		s, err := r.stateWith(ctx, agent.RunRef{ID: info.WorkflowExecution.ID, RunID: run}, call)
		if err != nil {
			return nil, fmt.Errorf("read what run %s told the model about a call: %w", run, err)
		}
		if s == nil {
			continue
		}
		if told := s.CallRecord(call).Result; told != nil {
			return told, nil
		}
	}
	return nil, nil
}

// recallAttempts is the number of the attempt from which on an activity skips an earlier run whose history cannot be read.
// Earlier attempts fail and are retried, because the reason may be temporary: for example, a codec server may not answer.
const recallAttempts = 10

// stateWith returns the state at the end of a run if the run's history mentions the given call. The history mentions the call if
// it has the model call that asked for it, the activity of the call, the search for its result, or the start of its sub-agent.
//
// If the history does not mention the call, stateWith returns nil, because making a state takes time. It also returns nil if
// there is no state: see [Reader.lastState].
func (r *Reader) stateWith(ctx context.Context, from agent.RunRef, call agent.Call) (*agent.State, error) {
	x, err := r.index(ctx, from.ID, from.RunID)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := []string{string(call.Key), string(call.Model), string(agent.FindKey(call.Key))}
	if call.Child != "" {
		ids = append(ids, string(call.Child), agent.ChildID(from.ID, call.Name, call.Child))
	}
	mentioned := slices.ContainsFunc(ids, func(id string) bool {
		_, has := x.activities[id]
		return has
	})
	if !mentioned {
		return nil, nil
	}
	return r.lastState(ctx, from)
}

// lastState returns the state at the end of a run, and caches it in compressed form. It returns nil if the run has no state, if the
// state is too large, or if the run's history is deleted. For an unreadable history, see [Reader.packLast].
func (r *Reader) lastState(ctx context.Context, from agent.RunRef) (*agent.State, error) {
	name := fmt.Sprint("last state\n", from.ID, "\n", from.RunID)
	packed, known := r.states.GetIfPresent(name)
	if !known {
		var err error
		packed, err = flight.Do(ctx, &r.flights, name, func(ctx context.Context) (packedState, error) {
			packed, err := r.packLast(ctx, from)
			if err == nil && packed.data != nil {
				r.states.Set(name, packed)
			}
			return packed, err
		})
		if err != nil || packed.data == nil {
			return nil, err
		}
	}
	return protocol.Unpack(packed.data)
}

// packLast reads the state at the end of a run and compresses it. The result has no data if the run has no state, if the
// state is too large, or if the run's history is deleted. If the history is unreadable (see [history.UnreadableError]),
// packLast returns an error. From attempt number [recallAttempts] of the activity on, it returns no data instead.
func (r *Reader) packLast(ctx context.Context, from agent.RunRef) (packedState, error) {
	run, err := history.Read(ctx, r.temporal, from, r.converter)
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return packedState{}, nil
	case errors.As(err, new(*history.UnreadableError)) && activity.GetInfo(ctx).Attempt >= recallAttempts:
		r.log.WarnContext(ctx, "an earlier run cannot be read; its results are not recalled", logs.Agent, from.ID, logs.Run, from.RunID, "error", err)
		return packedState{}, nil
	case err != nil || run.State == nil:
		return packedState{}, err
	}
	data, err := protocol.Pack(run.State)
	if errors.Is(err, protocol.ErrStateSize) {
		r.log.WarnContext(ctx, "an earlier run cannot be read; its results are not recalled", logs.Agent, from.ID, logs.Run, from.RunID, "error", err)
		return packedState{}, nil
	}
	return packedState{data: data, events: run.Events}, err
}
