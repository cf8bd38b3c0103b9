// Package history reads agents out of Temporal histories: an agent's state when a run ended, or after
// any event. It replays the history through the workflow itself, in process, so that what is read is what the
// workflow had. It needs no worker.
//
// Code that changes what the workflow does under old histories would make them unreadable, as it would break agents
// that run. The versions of the driver keep both from it, and the recorded histories that replay in the tests.
package history

import (
	"context"
	"errors"
	"fmt"
	"iter"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Run is what the history of one run tells.
type Run struct {
	// Start is the input of the run, its life filled in.
	Start agent.Start
	// Previous is the run from which this one goes on, or of which it is a fork; nil where there is none.
	Previous *agent.RunRef
	// State is the agent's: at the end of a run that has ended, with what had arrived and was not taken yet;
	// after the newest workflow task of a run that has not. It is nil where the run has no state: before its first
	// task, or because its start was refused.
	State *agent.State
	// Events is the number of events that were read.
	Events int64
	// Closed is the event that ended the run; nil where none did.
	Closed *historypb.HistoryEvent
	// End is the error with which the run ended; nil when it runs, or ended well.
	End error
}

// UnreadableError says that a history cannot be read: it is of another version, or not an agent's.
type UnreadableError struct {
	ID, RunID string
	Err       error
}

// Error names the run.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the history of agent %s, run %s, cannot be read: %v", e.ID, e.RunID, e.Err)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Read reads a run of an agent, or the first events of it. The converter is the Temporal client's, with its codecs; nil
// means the SDK's. The error is an [*UnreadableError], or one of Temporal: serviceerror.NotFound where the history is gone.
func Read(ctx context.Context, c client.Client, from agent.RunRef, dc converter.DataConverter) (*Run, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	var events []*historypb.HistoryEvent
	for event, err := range Events(ctx, c, from) {
		if err != nil {
			return nil, fmt.Errorf("history of %s: %w", from.ID, err)
		}
		events = append(events, event)
	}
	run, err := Of(from.ID, from.RunID, events, dc)
	if err != nil || run.State != nil || run.Closed == nil || run.Start.From == nil {
		return run, err
	}
	// The run ended before it had read the state with which it was to go on.
	previous := *run.Start.From
	if previous.Resume {
		if previous, err = Newest(ctx, c, previous, from.RunID); err != nil {
			return nil, err
		}
	}
	before, err := Read(ctx, c, previous, dc)
	if err != nil || before.State == nil {
		return run, err
	}
	run.State, err = continueState(from.ID, run, before.State, events, dc)
	return run, err
}

// Of reads the events of one run. It does not read the runs before it: where the run goes on from another one
// and ended before it had its state, State is nil.
func Of(agentID, runID string, events []*historypb.HistoryEvent, dc converter.DataConverter) (*Run, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	unreadable := func(err error) error { return &UnreadableError{ID: agentID, RunID: runID, Err: err} }
	if len(events) == 0 || events[0].GetWorkflowExecutionStartedEventAttributes() == nil {
		return nil, unreadable(errors.New("it does not begin with the start of a workflow"))
	}
	last := events[len(events)-1]
	run := &Run{Events: last.GetEventId()}
	if err := run.begin(agentID, events[0], dc); err != nil {
		return nil, unreadable(err)
	}
	if Closes(last.GetEventType()) {
		run.Closed, run.End = last, closeError(last, dc)
	}
	whole := complete(events)
	if whole == nil {
		return run, nil
	}
	state, err := workflows.Replay(&historypb.History{Events: whole}, workflow.Execution{ID: agentID, RunID: runID}, dc)
	if err != nil {
		return nil, unreadable(err)
	}
	run.State = state
	return run, nil
}

func (r *Run) begin(agentID string, e *historypb.HistoryEvent, dc converter.DataConverter) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	if err := dc.FromPayloads(a.GetInput(), &r.Start); err != nil {
		return fmt.Errorf("its input: %w", err)
	}
	if r.Start.Incarnation == "" {
		r.Start.Incarnation = a.GetFirstExecutionRunId()
	}
	if from := r.Start.From; from != nil {
		r.Previous = &agent.RunRef{ID: from.ID, RunID: from.RunID, Events: from.Events}
	} else if run := a.GetContinuedExecutionRunId(); run != "" {
		r.Previous = &agent.RunRef{ID: agentID, RunID: run}
	}
	return nil
}

// continueState returns the state with which a run would have begun that ended before it had read the state of the run
// before it, with the messages that the run took meanwhile.
func continueState(agentID string, run *Run, before *agent.State, events []*historypb.HistoryEvent, dc converter.DataConverter) (*agent.State, error) {
	now := run.Closed.GetEventTime().AsTime().UnixMilli()
	state, err := protocol.Continue(agentID, run.Start, before, now)
	if err != nil {
		return nil, err
	}
	for _, u := range updates(events) {
		in := u.GetInput()
		e, err := workflows.UpdateEvent(in.GetName(), func(out any) error { return dc.FromPayloads(in.GetArgs(), out) }, now)
		if err != nil {
			return nil, err
		}
		if e != nil {
			state.Apply(e)
		}
	}
	return state, nil
}

// Events yields the events of a run in order, as many as from names.
func Events(ctx context.Context, c client.Client, from agent.RunRef) iter.Seq2[*historypb.HistoryEvent, error] {
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		events := c.GetWorkflowHistory(ctx, from.ID, from.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if !yield(event, err) || err != nil || event.GetEventId() == from.Events {
				return
			}
		}
	}
}
