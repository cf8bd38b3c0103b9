package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/traceparent"
)

// Parent returns the traceparent of what a turn does. It is empty if this worker makes no spans and the message has no trace. A nil tracer
// makes none.
func (t *Telemetry) Parent(s agent.TurnSpan) string {
	switch {
	case t == nil || !t.active():
		if s.ParentID == "" {
			return ""
		}
		s.SpanID = s.ParentID
	case s.ParentID == "" && t.chooses():
		s.Flags = "00"
		if t.probe(idsOf(s)).IsSampled() {
			s.Flags = "01"
		}
	case s.ParentID != "" && !t.chooses(): // nobody would know the span of the turn
		s.SpanID = s.ParentID
	}
	return s.Traceparent()
}

// Turn is a turn that has ended, or was stopped by a hold.
type Turn struct {
	agent.TurnSpan
	Agent      string // the name of the definition
	AgentID    string
	RunID      string
	Number     int
	ModelCalls int
	Began      time.Time
	Ended      time.Time
	// Error is the class of the failure that stopped the turn; empty if it was answered.
	Error string
	// Limit is the one that was used most when the turn ended.
	Limit agent.LimitUse
}

// EndTurn makes the span of a turn. A nil tracer makes none.
func (t *Telemetry) EndTurn(turn Turn) {
	if t == nil {
		return
	}
	ctx := context.Background()
	labels := []attribute.KeyValue{attribute.String(operationName, operationInvokeAgent), attribute.String(agentName, turn.Agent)}
	if turn.Error != "" {
		labels = append(labels, attribute.String(errorType, turn.Error))
	}
	m := t.meter()
	m.turnDuration.Record(ctx, max(turn.Ended.Sub(turn.Began), 0).Seconds(), metric.WithAttributes(labels...))
	if turn.Limit.Name != "" {
		m.limitUsed.Record(ctx, turn.Limit.Share, metric.WithAttributes(attribute.String(agentName, turn.Agent), attribute.String(limitName, turn.Limit.Name)))
	}
	if !t.active() {
		return
	}
	switch {
	case turn.ParentID != "":
		parent := turn.TurnSpan
		parent.SpanID = turn.ParentID
		ctx = traceparent.Below(ctx, parent.Traceparent())
	case !t.chooses(): // the span can only join the trace below a parent
		ctx = traceparent.Below(ctx, turn.Traceparent())
	}
	_, span := t.tracer().Start(idsOf(turn.TurnSpan).in(ctx), operationInvokeAgent+" "+turn.Agent, trace.WithTimestamp(turn.Began), trace.WithAttributes(
		attribute.String(operationName, operationInvokeAgent), attribute.String(agentName, turn.Agent), attribute.String(conversationID, turn.AgentID),
		attribute.String(runID, turn.RunID), attribute.Int(turnNumber, turn.Number), attribute.Int(modelCalls, turn.ModelCalls),
	))
	if turn.Error != "" {
		fail(span, turn.Error)
	}
	span.End(trace.WithTimestamp(turn.Ended))
}

func idsOf(s agent.TurnSpan) ids {
	id, _ := trace.TraceIDFromHex(s.TraceID) // agent makes only valid ones
	span, _ := trace.SpanIDFromHex(s.SpanID)
	return ids{trace: id, span: span}
}
