package audit

import (
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// readLife reads the beginning and the end of a run.
func (r *reader) readLife(e *historypb.HistoryEvent) error {
	if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil {
		return r.begin(e, a)
	}
	if a := e.GetWorkflowTaskFailedEventAttributes(); a.GetBaseRunId() != "" {
		_, text := r.failed(a.GetFailure())
		r.tell(e, object.AuditLine{Act: reset, EarlierRunID: a.GetBaseRunId(), Reason: text}, agent.Actor{}, a.GetIdentity())
	}
	if a := e.GetWorkflowExecutionCancelRequestedEventAttributes(); a != nil {
		r.tell(e, object.AuditLine{Act: cancelled, Reason: a.GetCause(), Parent: a.GetExternalWorkflowExecution().GetWorkflowId()}, agent.Actor{}, a.GetIdentity())
	}
	return r.end(e)
}

func (r *reader) begin(e *historypb.HistoryEvent, a *historypb.WorkflowExecutionStartedEventAttributes) error {
	if err := r.decode(a.GetInput(), &r.start); err != nil {
		return err
	}
	if r.start.Incarnation == "" {
		r.start.Incarnation = a.GetFirstExecutionRunId()
	}
	r.identity = r.start.Identity(r.ID)
	r.meet(r.start.Metadata)
	earlier := a.GetContinuedExecutionRunId()
	if from := r.start.From; from != nil {
		earlier = from.RunID
	}
	line := object.AuditLine{Act: started, Agent: r.start.Agent, Parent: r.start.Parent, Key: r.start.Key, EarlierRunID: earlier}
	r.tell(e, line, agent.Actor{}, a.GetIdentity())
	for _, m := range r.start.Messages() {
		r.meet(m.Metadata)
		r.tell(e, message(m), m.Actor, a.GetIdentity())
	}
	if r.start.State != nil {
		s, err := protocol.Unpack(r.start.State)
		if err != nil {
			return err
		}
		r.inherit(s)
	}
	return nil
}

func (r *reader) end(e *historypb.HistoryEvent) error {
	line := object.AuditLine{Act: ended}
	identity := ""
	switch {
	case e.GetWorkflowExecutionCompletedEventAttributes() != nil:
		var result protocol.Result
		if err := r.decode(e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
			return err
		}
		line.Status, line.Content = client.Completed, result.Answer
	case e.GetWorkflowExecutionFailedEventAttributes() != nil:
		line.Status = client.Failed
		line.Class, line.Reason = r.failed(e.GetWorkflowExecutionFailedEventAttributes().GetFailure())
	case e.GetWorkflowExecutionCanceledEventAttributes() != nil:
		line.Status = client.Cancelled
	case e.GetWorkflowExecutionTerminatedEventAttributes() != nil:
		a := e.GetWorkflowExecutionTerminatedEventAttributes()
		line.Status, line.Reason, identity = client.Terminated, a.GetReason(), a.GetIdentity()
	case e.GetWorkflowExecutionTimedOutEventAttributes() != nil:
		line.Status = client.TimedOut
	case e.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil:
		line.Act = continued
	default:
		return nil
	}
	r.tell(e, line, agent.Actor{}, identity)
	return nil
}
