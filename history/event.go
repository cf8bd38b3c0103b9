package history

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

type payloads = commonpb.Payloads

// originOf returns the event that began what e ends, if e ends something.
func originOf(e *historypb.HistoryEvent) (int64, bool) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), true
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return e.GetActivityTaskFailedEventAttributes().GetScheduledEventId(), true
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(), true
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		return e.GetTimerFiredEventAttributes().GetStartedEventId(), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		return e.GetChildWorkflowExecutionCompletedEventAttributes().GetInitiatedEventId(), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		return e.GetChildWorkflowExecutionFailedEventAttributes().GetInitiatedEventId(), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		return e.GetChildWorkflowExecutionCanceledEventAttributes().GetInitiatedEventId(), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
		return e.GetChildWorkflowExecutionTimedOutEventAttributes().GetInitiatedEventId(), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		return e.GetChildWorkflowExecutionTerminatedEventAttributes().GetInitiatedEventId(), true
	}
	return 0, false
}

// Closes reports whether an event of that type ends a run.
func Closes(t enumspb.EventType) bool {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}

// finish applies the end of an effect.
func (f *folder) finish(end end) error {
	o := f.origins[end.origin]
	if f.given[end.origin] {
		return nil
	}
	switch {
	case o.turn > 0:
		f.state.Apply(agent.WallReached{Turn: o.turn, Time: f.now})
		return nil
	case o.call != "":
		for _, call := range f.state.Pending() {
			if tool, _ := f.state.Definition.Tool(call.Name); call.Key == o.call && tool.BudgetMS > 0 {
				f.state.Apply(agent.ChildOverdue(o.key, tool.BudgetMS, f.now))
			}
		}
		return nil
	case o.child != "":
		child, _ := f.childByID(o.child)
		var result protocol.AgentEnd
		err := f.result(end.event, &result)
		f.state.Apply(protocol.ChildEnded(child, result, err, false, f.resultBytes(), f.now))
		return nil
	}
	switch o.key.Kind() {
	case agent.KindDefinition:
		var d agent.Definition
		err := f.result(end.event, &d)
		f.state.Apply(protocol.Loaded(o.key, d, err))
	case agent.KindModel:
		var r protocol.ModelResult
		err := f.result(end.event, &r)
		f.state.Apply(protocol.Replied(o.key, r, err, f.now))
	case agent.KindTool:
		var r protocol.ToolResult
		err := f.result(end.event, &r)
		f.state.Apply(protocol.Finished(o.key, f.toolName(o.key), r, err, f.resultBytes(), f.now))
	case agent.KindChild:
		child, _ := f.state.Child(o.key)
		var r protocol.AgentEnd
		err := f.result(end.event, &r)
		f.state.Apply(protocol.ChildEnded(child, r, err, true, f.resultBytes(), f.now))
	case agent.KindLook:
		var p protocol.AgentProgress
		err := f.result(end.event, &p)
		for _, call := range f.state.Pending() {
			if call.Child != "" && agent.LookKey(call.Key) == o.key {
				delete(f.limited, call.Key) // it waits on, with another timer
				f.apply(protocol.Looked(call.Child, p, err, f.now))
			}
		}
	case agent.KindState:
	default:
		return f.mismatch(end.origin, string(o.key), f.state.Next())
	}
	return nil
}

// result decodes what an effect returned, or returns how it failed.
func (f *folder) result(e *historypb.HistoryEvent, out any) error {
	var p *payloads
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		p = e.GetActivityTaskCompletedEventAttributes().GetResult()
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		p = e.GetChildWorkflowExecutionCompletedEventAttributes().GetResult()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return f.failures.FailureToError(e.GetActivityTaskFailedEventAttributes().GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return f.failures.FailureToError(e.GetActivityTaskTimedOutEventAttributes().GetFailure())
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		return f.failures.FailureToError(e.GetChildWorkflowExecutionFailedEventAttributes().GetFailure())
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		var spent agent.Spending
		if f.dc.FromPayloads(e.GetChildWorkflowExecutionCanceledEventAttributes().GetDetails(), &spent) != nil {
			return temporal.NewCanceledError()
		}
		return temporal.NewCanceledError(spent)
	default:
		return childError(e.GetEventType())
	}
	if err := f.dc.FromPayloads(p, out); err != nil {
		return fmt.Errorf("history: event %d: %w", e.GetEventId(), err)
	}
	return nil
}

func (f *folder) toolName(key agent.Key) string {
	for _, c := range f.state.Calls {
		if c.Key == key {
			return c.Name
		}
	}
	return ""
}

func (f *folder) resultBytes() int {
	if f.state.Definition == nil {
		return 0
	}
	return f.state.Definition.Limits.ToolResultBytes
}

func (f *folder) update(u *update) error {
	switch u.name {
	case protocol.MessageUpdate:
		var m agent.Incoming
		if err := f.dc.FromPayloads(u.args, &m); err != nil {
			return fmt.Errorf("history: a message: %w", err)
		}
		f.state.Apply(agent.MessageReceived{Message: m, Time: f.now})
	case protocol.CloseUpdate:
		f.state.Apply(agent.Closed{})
	case protocol.ResumeLostUpdate:
		var id string
		if err := f.dc.FromPayloads(u.args, &id); err != nil {
			return fmt.Errorf("history: a resume: %w", err)
		}
		f.state.Apply(agent.ResumeLost{ID: id})
	}
	return nil
}
