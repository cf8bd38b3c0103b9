// Package history reads agents out of Temporal histories: what an agent's state was
// when a run ended, or after any event, by the same [agent.State.Apply] by which
// it came about. No workflow code is replayed, so this works when the code has
// changed since, and without a worker.
//
// The fold checks itself. Every activity and sub-agent that the history schedules
// has to be what the state asks for at that point; where it is not, there is a
// [MismatchError] and never a guess.
package history

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Events yields the events of one run, in order.
type Events = iter.Seq2[*historypb.HistoryEvent, error]

// Run is what one run's history tells.
type Run struct {
	// Start is the input of the run, its life filled in.
	Start agent.Start
	// Previous is the run from which this one goes on, or of which it is a fork; nil where there is none.
	Previous *agent.From
	// State is the agent's at the end of what was read. It is nil when the run had not
	// begun to work.
	State *agent.State
	// Events is the number of events that were read.
	Events int64
	// Closed is the last event where it ended the run; nil otherwise.
	Closed *historypb.HistoryEvent
	// End is the error with which the run ended; nil when it runs, or ended well.
	End error
}

// MismatchError says that a history does not fit the code that reads it.
type MismatchError struct {
	Event int64
	Found string
	Asked string
}

// Error names the event.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("history: event %d is %s, where the agent asks for %s: the history is of another version, or not an agent's",
		e.Event, e.Found, e.Asked)
}

// Fold reads one run of the agent with the given ID. The converter is the Temporal
// client's, with its codecs; nil means the SDK's. Failures are read with it, too.
func Fold(agentID string, events Events, dc converter.DataConverter) (*Run, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	f := &folder{
		id: agentID, dc: dc, run: &Run{},
		failures: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc}),
		origins:  map[int64]origin{}, given: map[int64]bool{}, admitted: map[int64]*update{}, limited: map[agent.Key]bool{},
	}
	for event, err := range events {
		if err != nil {
			return nil, fmt.Errorf("history of %s: %w", agentID, err)
		}
		if err := f.add(event); err != nil {
			return nil, err
		}
	}
	if err := f.settle(); err != nil {
		return nil, err
	}
	if err := f.deliver(); err != nil {
		return nil, err
	}
	f.run.State = f.state
	return f.run, nil
}

// deliver takes what a reset gave to a run that was ended before a worker saw it: the agent had taken
// it once, in the run that was reset, so it is not lost.
func (f *folder) deliver() error {
	if f.run.Closed == nil || len(f.admitted) == 0 {
		return nil
	}
	f.now = max(f.now, f.run.Closed.GetEventTime().AsTime().UnixMilli())
	if err := f.open(&task{}); err != nil || f.state == nil {
		return err
	}
	for _, event := range slices.Sorted(maps.Keys(f.admitted)) {
		if err := f.update(f.admitted[event]); err != nil {
			return err
		}
	}
	return nil
}

// folder holds what is known between two events.
type folder struct {
	id       string
	dc       converter.DataConverter
	failures converter.FailureConverter
	run      *Run

	state *agent.State
	pages [][]byte // of the state that the run reads from an earlier one

	// origins are the commands whose ends come later, by their event.
	origins map[int64]origin
	// given holds the activities that were given up: their results are not looked at.
	given    map[int64]bool
	admitted map[int64]*update
	// limited holds the calls that have a timer for their sub-agent's budget.
	limited map[agent.Key]bool

	now int64 // of the workflow task that is being read
	// deadline and timedTurn are those of the newest timer for a turn.
	deadline  int64
	timedTurn int
	task      *task // its inputs; nil before the first task
	waiting   task  // what has arrived since
	early     task  // what came before there was a state
}

// origin is what a command asked for.
type origin struct {
	key   agent.Key // of an activity or a sub-agent
	child string    // the sub-agent's ID
	turn  int       // of a timer for a turn
	call  agent.Key // of a timer for a sub-agent's budget
}

// task is what one workflow task is told, in the order in which the driver takes it:
// a cancel first, then the ends of its effects by their beginning, then updates.
type task struct {
	cancel  bool
	ends    []end
	updates []*update
	// asked are the commands that the task made, but for its timers.
	asked  []asked
	timers []timer
}

// timer is one that was started, for so many milliseconds.
type timer struct{ event, ms int64 }

type end struct {
	origin int64
	event  *historypb.HistoryEvent
}

type update struct {
	name string
	args *payloads
}

type asked struct {
	event int64
	key   agent.Key
	child string
}

func (f *folder) add(e *historypb.HistoryEvent) error {
	f.run.Events = e.GetEventId()
	id := e.GetEventId()
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return f.begin(e)
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		if err := f.settle(); err != nil {
			return err
		}
		f.now = e.GetEventTime().AsTime().UnixMilli()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		f.task, f.waiting = &task{cancel: f.waiting.cancel, ends: f.waiting.ends}, task{}

	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		f.waiting.cancel = true
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
		a := e.GetWorkflowExecutionUpdateAdmittedEventAttributes()
		f.admitted[id] = &update{a.GetRequest().GetInput().GetName(), a.GetRequest().GetInput().GetArgs()}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
		u := f.admitted[a.GetAcceptedRequestSequencingEventId()]
		delete(f.admitted, a.GetAcceptedRequestSequencingEventId())
		if in := a.GetAcceptedRequest().GetInput(); in != nil {
			u = &update{in.GetName(), in.GetArgs()}
		}
		if u != nil && f.task != nil {
			f.task.updates = append(f.task.updates, u)
		}

	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		key := agent.Key(e.GetActivityTaskScheduledEventAttributes().GetActivityId())
		f.origins[id] = origin{key: key}
		f.command(asked{event: id, key: key})
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		f.given[e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()] = true
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		if f.task != nil {
			f.task.timers = append(f.task.timers, timer{id, e.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration().Milliseconds()})
		}
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		child := e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()
		f.origins[id] = origin{child: child}
		f.command(asked{event: id, child: child})

	default:
		if from, ends := originOf(e); ends {
			f.waiting.ends = append(f.waiting.ends, end{from, e})
		}
		if Closes(e.GetEventType()) {
			f.run.Closed, f.run.End = e, f.closeError(e)
		}
	}
	return nil
}

func (f *folder) command(a asked) {
	if f.task != nil {
		f.task.asked = append(f.task.asked, a)
	}
}

func (f *folder) begin(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	if err := f.dc.FromPayloads(a.GetInput(), &f.run.Start); err != nil {
		return fmt.Errorf("history: the run's input: %w", err)
	}
	if f.run.Start.Life == "" {
		f.run.Start.Life = a.GetFirstExecutionRunId()
	}
	if from := f.run.Start.From; from != nil {
		f.run.Previous = &agent.From{ID: from.ID, RunID: from.RunID, Events: from.Events}
	} else if run := a.GetContinuedExecutionRunId(); run != "" {
		f.run.Previous = &agent.From{ID: f.id, RunID: run}
	}
	return nil
}

// settle carries out the workflow task that has been read, as the driver did.
func (f *folder) settle() error {
	t := f.task
	if t == nil {
		return nil
	}
	f.task = nil
	if err := f.open(t); err != nil {
		return err
	}
	if f.state == nil {
		f.early.cancel = f.early.cancel || t.cancel
		f.early.updates = append(f.early.updates, t.updates...)
		return nil
	}
	t.cancel, t.updates = t.cancel || f.early.cancel, append(f.early.updates, t.updates...)
	f.early = task{}
	if t.cancel {
		f.state.Apply(agent.CancelRequested{Time: f.now})
	}
	slices.SortStableFunc(t.ends, func(a, b end) int { return cmp.Compare(a.origin, b.origin) })
	for _, end := range t.ends {
		if err := f.finish(end); err != nil {
			return err
		}
	}
	for _, u := range t.updates {
		if err := f.update(u); err != nil {
			return err
		}
	}
	f.state.Advance(f.now)
	f.name(t.timers)
	return f.check(t.asked)
}

// open makes the state, when there is none and all that it is made of has come.
func (f *folder) open(t *task) error {
	if f.state != nil {
		return nil
	}
	if !f.run.Start.Continues() {
		f.state = agent.New(f.id, f.run.Start, f.now)
		return nil
	}
	for _, end := range t.ends {
		if f.origins[end.origin].key.Kind() != agent.KindState {
			continue
		}
		var page protocol.Page
		if err := f.dc.FromPayloads(end.event.GetActivityTaskCompletedEventAttributes().GetResult(), &page); err != nil {
			return fmt.Errorf("history: event %d: %w", end.event.GetEventId(), err)
		}
		f.pages = append(f.pages, page.Data)
		if len(f.pages) < page.Pages {
			return nil
		}
		state, err := protocol.Open(f.id, f.run.Start, slices.Concat(f.pages...), f.now)
		f.state = state
		return err
	}
	if f.run.Start.State != nil {
		state, err := protocol.Open(f.id, f.run.Start, f.run.Start.State, f.now)
		f.state = state
		return err
	}
	return nil
}

// apply applies e, if there is one.
func (f *folder) apply(e agent.Event) {
	if e != nil {
		f.state.Apply(e)
	}
}

// name finds out what the timers of a task are for: the end of the turn first, then the
// budgets of sub-agents in the order of the calls.
func (f *folder) name(timers []timer) {
	for _, t := range timers {
		if deadline := f.state.Deadline(); deadline != 0 && max(deadline-f.now, 1) == t.ms && !f.timed(f.state.Turn.Number) {
			f.origins[t.event] = origin{turn: f.state.Turn.Number}
			continue
		}
		for _, call := range f.state.Pending() {
			if call.Child != "" && !f.limited[call.Key] {
				f.limited[call.Key] = true
				f.origins[t.event] = origin{call: call.Key, key: call.Child}
				break
			}
		}
	}
}

// timed reports whether the turn's end has a timer that was started for this deadline.
func (f *folder) timed(turn int) bool {
	same := f.deadline == f.state.Deadline() && f.timedTurn == turn
	f.deadline, f.timedTurn = f.state.Deadline(), turn
	return same
}

// check holds what the task asked for against what the state asks for.
func (f *folder) check(all []asked) error {
	step := f.state.Next()
	for _, a := range all {
		switch {
		case a.key.Kind() == agent.KindState, a.key.Kind() == agent.KindLook:
		case a.key.Kind() == agent.KindChild:
			if _, known := f.state.Child(a.key); !known {
				return f.mismatch(a.event, "a wait for "+string(a.key), step)
			}
		case a.child != "":
			if _, known := f.childByID(a.child); !known {
				return f.mismatch(a.event, "the start of "+a.child, step)
			}
		case !agent.Wants(step, a.key):
			return f.mismatch(a.event, string(a.key), step)
		case a.key.Kind() == agent.KindModel:
			f.state.Apply(agent.ModelAsked{Key: a.key})
		}
	}
	return nil
}

func (f *folder) mismatch(event int64, found string, step agent.Step) error {
	return &MismatchError{Event: event, Found: found, Asked: fmt.Sprintf("%T %+v", step, step)}
}

func (f *folder) childByID(id string) (agent.Child, bool) {
	for _, c := range f.state.Children {
		if c.ID == id {
			return c, true
		}
	}
	return agent.Child{}, false
}
