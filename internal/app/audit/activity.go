package audit

import (
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// readActivity reads what models, tools and guardrails have done.
func (r *reader) readActivity(e *historypb.HistoryEvent) error {
	if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
		r.scheduled[e.GetEventId()] = a
		if a.GetActivityType().GetName() == protocol.CallTool {
			return r.call(e, a)
		}
		return nil
	}
	if a := e.GetActivityTaskStartedEventAttributes(); a != nil {
		r.attempts[a.GetScheduledEventId()] = a
		return nil
	}
	id, result, class, text := r.ending(e)
	a := r.scheduled[id]
	if a == nil {
		return nil
	}
	key, attempt := agent.Key(a.GetActivityId()), r.attempts[id]
	if class != "" {
		if a.GetActivityType().GetName() == protocol.CallTool {
			r.tell(e, object.AuditLine{Act: returned, Key: key, Tool: r.tools[key], Class: class, Reason: text, Attempt: int(attempt.GetAttempt())}, agent.Actor{}, attempt.GetIdentity())
		}
		return nil
	}
	switch a.GetActivityType().GetName() {
	case protocol.CallModel:
		return r.reply(e, key, a, result)
	case protocol.CallTool:
		return r.result(e, key, attempt, result)
	case protocol.CheckText:
		return r.verdict(e, key, a, result)
	case protocol.AwaitAgent:
		return r.awaited(e, a, result)
	case protocol.ReadAgent:
		return r.page(result)
	case protocol.FindMessages:
		return r.found(result)
	case protocol.FindCall:
		return r.foundCall(a, result)
	}
	return nil
}

// ending reads an event with which an activity ends. It returns the ID of the event that scheduled this activity, and either the result, or the
// class and the text of the failure. For any other event, the ID is 0.
func (r *reader) ending(e *historypb.HistoryEvent) (scheduled int64, result *commonpb.Payloads, class, text string) {
	if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
		return a.GetScheduledEventId(), a.GetResult(), "", ""
	}
	if a := e.GetActivityTaskFailedEventAttributes(); a != nil {
		class, text = r.failed(a.GetFailure())
		return a.GetScheduledEventId(), nil, class, text
	}
	if a := e.GetActivityTaskTimedOutEventAttributes(); a != nil {
		return a.GetScheduledEventId(), nil, "Timeout", protocol.TimeoutText(a.GetFailure().GetTimeoutFailureInfo().GetTimeoutType())
	}
	if a := e.GetActivityTaskCanceledEventAttributes(); a != nil {
		return a.GetScheduledEventId(), nil, "Cancelled", ""
	}
	return 0, nil, "", ""
}

func (r *reader) call(e *historypb.HistoryEvent, a *historypb.ActivityTaskScheduledEventAttributes) error {
	var in protocol.CallToolInput
	if err := r.decode(a.GetInput(), &in); err != nil {
		return err
	}
	key := agent.Key(a.GetActivityId())
	allowed := r.allowed(key)
	line := object.AuditLine{Act: called, Key: key, Tool: in.Ref, Arguments: in.Arguments, AllowedBy: allowed.by}
	if p, ok := r.proposals[key]; ok {
		line.Tool = p.tool
	}
	r.tools[key] = line.Tool
	r.tell(e, line, allowed.actor, "")
	return nil
}

func (r *reader) reply(e *historypb.HistoryEvent, key agent.Key, a *historypb.ActivityTaskScheduledEventAttributes, result *commonpb.Payloads) error {
	var in protocol.CallModelInput
	var out protocol.ModelResult
	if err := errors.Join(r.decode(a.GetInput(), &in), r.decode(result, &out)); err != nil {
		return err
	}
	line := object.AuditLine{Act: replied, Key: key, Content: out.Message.Content, Model: out.Model}
	switch {
	case out.Recalled:
		line = object.AuditLine{Act: recalled, Key: key}
	case in.Aside:
		line.Act = repliedAside
	case in.Compact:
		line.Act = summarised
	}
	r.tell(e, line, agent.Actor{}, "")
	if in.Aside || in.Compact {
		return nil
	}
	for i, c := range out.Message.ToolCalls {
		keys := r.propose(proposal{key, i, c.Name, c.Arguments})
		for _, free := range out.Free {
			if free.Position == i {
				for _, call := range keys {
					r.allowances[call] = allowance{by: byRule}
				}
			}
		}
		if out.Recalled {
			continue
		}
		line := object.AuditLine{Act: proposed, Tool: c.Name, Arguments: c.Arguments}
		if len(keys) == 1 {
			line.Key = keys[0]
		}
		r.tell(e, line, agent.Actor{}, "")
	}
	return nil
}

func (r *reader) result(e *historypb.HistoryEvent, key agent.Key, attempt *historypb.ActivityTaskStartedEventAttributes, result *commonpb.Payloads) error {
	var out protocol.ToolResult
	if err := r.decode(result, &out); err != nil {
		return err
	}
	line := object.AuditLine{Act: returned, Key: key, Tool: r.tools[key], Content: out.Content, Class: string(out.Kind), Attempt: int(attempt.GetAttempt())}
	switch {
	case out.Recalled, out.Told != nil:
		line = object.AuditLine{Act: recalled, Key: key, Tool: line.Tool}
	case out.Elicitation != nil:
		line.Content, line.Class = out.Elicitation.Question, "question"
	}
	r.tell(e, line, agent.Actor{}, attempt.GetIdentity())
	return nil
}

func (r *reader) verdict(e *historypb.HistoryEvent, key agent.Key, a *historypb.ActivityTaskScheduledEventAttributes, result *commonpb.Payloads) error {
	var in protocol.CheckTextInput
	var out protocol.CheckedText
	if err := errors.Join(r.decode(a.GetInput(), &in), r.decode(result, &out)); err != nil {
		return err
	}
	if !out.Recalled {
		r.tell(e, object.AuditLine{Act: judged, Key: key, Guardrail: in.Guardrail, Action: out.Action, Content: in.Text, Reason: out.Reason}, agent.Actor{}, "")
	}
	return nil
}

// page takes over a page of the state of an earlier run. A fork has no open calls and no permissions of it.
func (r *reader) page(result *commonpb.Payloads) error {
	var page protocol.Page
	if err := r.decode(result, &page); err != nil {
		return err
	}
	r.state = append(r.state, page.Data...)
	if r.pages++; r.pages < page.Pages || r.start.From == nil || r.start.From.Fork {
		return nil
	}
	s, err := protocol.Unpack(r.state)
	if err != nil {
		return err
	}
	r.inherit(s)
	return nil
}

// found takes over what people have decided in other runs.
func (r *reader) found(result *commonpb.Payloads) error {
	var page protocol.FoundMessages
	if err := r.decode(result, &page); err != nil {
		return err
	}
	for _, m := range page.Messages {
		r.meet(m.Metadata)
	}
	for _, d := range page.Decisions {
		r.decide(d)
	}
	for _, key := range page.Revoked {
		r.revoke(key)
	}
	return nil
}

func (r *reader) foundCall(a *historypb.ActivityTaskScheduledEventAttributes, result *commonpb.Payloads) error {
	var in protocol.FindCallInput
	var out protocol.FoundCall
	if err := errors.Join(r.decode(a.GetInput(), &in), r.decode(result, &out)); err != nil {
		return err
	}
	if d := out.Decider; d != nil && !d.Denied {
		r.allowances[in.Call.Key] = decided(*d)
	}
	return nil
}
