// Package history reads the state of an agent from the Temporal history of a run: at the end of the run, or after any event.
// It replays the history with the code of the workflow, in the same process, so the state is exactly the state that the workflow
// had. The package needs no worker.
//
// A change of the workflow's code must not change what the workflow does in old histories. If it does, old histories become
// unreadable, and agents that are running fail. For this reason the workflow uses `workflow.GetVersion`, and the tests replay
// recorded histories.
package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Run describes one run of an agent, as its history records it.
type Run struct {
	// Start is the input of the run. If the input has no incarnation, the field `Start.Incarnation` is the ID of the first
	// run.
	Start agent.Start
	// Previous is the run that this run continues, resumes or forks; nil if there is none. After a resume, Previous may be a
	// later run than the run that the input names. This happens if a later run ended before this run read the state: see
	// [Newest].
	Previous *agent.RunRef
	// State is the state of the agent. If the run has ended, State is the state at the end, including the events that arrived
	// after the last workflow task. If the run is open, State is the state after the newest completed workflow task. State is
	// nil if the run has no state yet, or if the workflow refused its start input. An open run has no state before its first
	// completed workflow task.
	State *agent.State
	// ContextTokens is the number of tokens of the newest model reply and its request, as the provider counted them. It is 0 if
	// the run has no reply yet.
	ContextTokens int
	// Interrupts are the times at which people have interrupted the turn in this run, oldest first.
	Interrupts []time.Time
	// Events is the number of events that were read.
	Events int64
	// Closed is the event that ended the run; nil if the run is open.
	Closed *historypb.HistoryEvent
	// End is the error with which the run ended. It is nil if the run is open, completed or continued as new.
	End error
}

// UnreadableError says that a history cannot be read. The history does not fit this version of the workflow, it is not the
// history of an agent, or a payload could not be decoded.
type UnreadableError struct {
	// ID and RunID name the agent and the run.
	ID, RunID string
	// Err says which of these reasons it is.
	Err error
}

// Error names the agent, the run and the cause.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the history of agent %s, run %s, cannot be read: %v", e.ID, e.RunID, e.Err)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Read reads the history of one run of an agent, and returns the run with its state. `from` names the run. If `from.Events`
// is not 0, Read reads only that many events, from the beginning of the history. If the run ended before it had read the state of
// the run that it continues, Read also reads that run. The data converter must be that of the Temporal client, with the client's
// codecs; nil means the SDK's default.
//
// If a history cannot be read, the error is an [*UnreadableError]. If the caller has to try again later, the error is
// [ErrNotListed]. Errors of Temporal are wrapped: `serviceerror.NotFound` means that the history no longer exists. If the run was to
// begin a fork that is not possible, and ended before, the error is an [*agent.ForkPointError].
func Read(ctx context.Context, c client.Client, from agent.RunRef, dc converter.DataConverter) (*Run, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	var events []*historypb.HistoryEvent
	for event, err := range Events(ctx, c, from) {
		if err != nil {
			return nil, fmt.Errorf("read the history of agent %s: %w", from.ID, err)
		}
		events = append(events, event)
	}
	run, err := Of(from.ID, from.RunID, events, dc)
	if err != nil || run.State != nil || run.Closed == nil || run.Start.From == nil {
		return run, err
	}
	// The run ended before it had read the state of the earlier run.
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

// Of makes a [Run] from the first events of the run's history. The result describes the run as it was after the last of the
// given events. The data converter decodes payloads; nil means the SDK's default. The error is an [*UnreadableError].
//
// If the run ended before it had read the state of the run that it continues, the field `State` is nil, because Of does not read
// other runs.
func Of(agentID, runID string, events []*historypb.HistoryEvent, dc converter.DataConverter) (*Run, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	unreadable := func(err error) error { return &UnreadableError{ID: agentID, RunID: runID, Err: err} }
	if len(events) == 0 || events[0].GetWorkflowExecutionStartedEventAttributes() == nil {
		return nil, unreadable(errors.New("the first event is not WorkflowExecutionStarted; use the complete history of the run"))
	}
	last := events[len(events)-1]
	run := &Run{Events: last.GetEventId(), Interrupts: interrupts(events)}
	if err := run.begin(agentID, events[0], dc); err != nil {
		return nil, unreadable(err)
	}
	if err := run.setRead(events, dc); err != nil {
		return nil, unreadable(err)
	}
	if Closes(last.GetEventType()) {
		run.Closed, run.End = last, closeError(last, dc)
	}
	whole, unrecorded := complete(events)
	if whole == nil {
		return run, nil
	}
	state, err := workflows.Replay(&historypb.History{Events: whole}, workflow.Execution{ID: agentID, RunID: runID}, dc, untold(run, events), unrecorded)
	if err != nil {
		return nil, unreadable(err)
	}
	run.State, run.ContextTokens = state, contextTokens(events, dc)
	return run, nil
}

// interrupts returns the times of the interrupts in a history. A workflow accepts an interrupt only if it stops a turn.
func interrupts(events []*historypb.HistoryEvent) []time.Time {
	var times []time.Time
	for _, e := range events {
		if e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName() == protocol.InterruptUpdate {
			times = append(times, e.GetEventTime().AsTime())
		}
	}
	return times
}

// contextTokens returns the tokens of the newest model reply in a history and of its request. A reply that cannot be decoded counts
// as none, because the number is only shown to people.
func contextTokens(events []*historypb.HistoryEvent, dc converter.DataConverter) int {
	for _, e := range slices.Backward(events) {
		done := e.GetActivityTaskCompletedEventAttributes()
		asked := done.GetScheduledEventId() - 1 // the first event has the ID 1
		if asked < 0 || asked >= int64(len(events)) ||
			events[asked].GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() != protocol.CallModel {
			continue
		}
		var reply protocol.ModelResult
		if dc.FromPayloads(done.GetResult(), &reply) != nil {
			return 0
		}
		return reply.Usage.Bounded().Tokens()
	}
	return 0
}

func (r *Run) begin(agentID string, e *historypb.HistoryEvent, dc converter.DataConverter) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	if err := dc.FromPayloads(a.GetInput(), &r.Start); err != nil {
		return fmt.Errorf("decode the start input (it needs the data converter and codecs of the workers): %w", err)
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

// setRead corrects the field `Previous` of a run that resumes an agent. The input of the run names an earlier run, but the
// run may have read the state of a later one: see [Newest]. setRead then sets `Previous` to the run that was read.
func (r *Run) setRead(events []*historypb.HistoryEvent, dc converter.DataConverter) error {
	if r.Start.From == nil || !r.Start.From.Resume {
		return nil
	}
	reads := map[int64]bool{}
	for _, e := range events {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == protocol.ReadAgent {
			reads[e.GetEventId()] = true
		}
		done := e.GetActivityTaskCompletedEventAttributes()
		if !reads[done.GetScheduledEventId()] {
			continue
		}
		var page protocol.Page
		if err := dc.FromPayloads(done.GetResult(), &page); err != nil {
			return fmt.Errorf("decode the result of the activity ReadAgent (it needs the data converter and codecs of the workers): %w", err)
		}
		if page.RunID != "" {
			r.Previous = &agent.RunRef{ID: r.Previous.ID, RunID: page.RunID}
		}
	}
	return nil
}

// continueState makes the state of a run that ended before it had read the state of an earlier run, `before`. It applies the start
// input and the updates of the run to `before`, which it may modify.
func continueState(agentID string, run *Run, before *agent.State, events []*historypb.HistoryEvent, dc converter.DataConverter) (*agent.State, error) {
	now := run.Closed.GetEventTime().AsTime().UnixMilli()
	state, err := protocol.Continue(agentID, run.Start, before, now)
	if err != nil {
		return nil, err
	}
	for _, u := range updates(events) {
		in := u.GetInput()
		e, err := protocol.UpdateEvent(in.GetName(), func(out any) error { return dc.FromPayloads(in.GetArgs(), out) }, now)
		if err != nil {
			return nil, err
		}
		if e != nil {
			state.Apply(e)
		}
	}
	return state, nil
}

// Events yields the events of one run of an agent in order. `from` names the run. If `from.Events` is not 0, the sequence
// ends after the event with this ID. If Temporal returns an error, Events yields the error, and the sequence ends.
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
