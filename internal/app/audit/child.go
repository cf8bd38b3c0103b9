package audit

import (
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// readChild reads the starts and the ends of sub-agents. Each sub-agent has a trail of its own.
func (r *reader) readChild(e *historypb.HistoryEvent) error {
	if a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); a != nil {
		var in agent.Start
		if err := r.decode(a.GetInput(), &in); err != nil {
			return err
		}
		line := object.AuditLine{Act: called, Key: in.Key, Agent: in.Agent}
		var allowed allowance
		if in.Message != nil {
			line.Content = in.Message.Text
			if call := r.callOf(in.Agent, in.Message.Text); call != "" {
				allowed = r.allowed(call)
			}
		}
		line.AllowedBy = allowed.by
		r.children[e.GetEventId()] = in.Key
		r.tell(e, line, allowed.actor, "")
		return nil
	}
	line := object.AuditLine{Act: returned}
	if a := e.GetChildWorkflowExecutionCompletedEventAttributes(); a != nil {
		var result protocol.Result
		if err := r.decode(a.GetResult(), &result); err != nil {
			return err
		}
		line.Key, line.Content = r.children[a.GetInitiatedEventId()], result.Answer
	}
	if a := e.GetChildWorkflowExecutionFailedEventAttributes(); a != nil {
		line.Key = r.children[a.GetInitiatedEventId()]
		line.Class, line.Reason = r.failed(a.GetFailure())
	}
	if a := e.GetChildWorkflowExecutionCanceledEventAttributes(); a != nil {
		line.Key, line.Class = r.children[a.GetInitiatedEventId()], "Cancelled"
	}
	if a := e.GetChildWorkflowExecutionTerminatedEventAttributes(); a != nil {
		line.Key, line.Class = r.children[a.GetInitiatedEventId()], "Terminated"
	}
	if a := e.GetChildWorkflowExecutionTimedOutEventAttributes(); a != nil {
		line.Key, line.Class = r.children[a.GetInitiatedEventId()], "Timeout"
	}
	if line.Key != "" {
		r.tell(e, line, agent.Actor{}, "")
	}
	return nil
}

// awaited tells the end of a sub-agent that an earlier run has started.
func (r *reader) awaited(e *historypb.HistoryEvent, a *historypb.ActivityTaskScheduledEventAttributes, result *commonpb.Payloads) error {
	var in protocol.AwaitAgentInput
	var end protocol.AgentEnd
	if err := errors.Join(r.decode(a.GetInput(), &in), r.decode(result, &end)); err != nil {
		return err
	}
	line := object.AuditLine{Act: returned, Key: in.Key, Content: end.Answer, Reason: end.Failure}
	if end.Failure != "" {
		line.Class = string(agent.NoAnswer)
	}
	r.tell(e, line, agent.Actor{}, "")
	return nil
}
