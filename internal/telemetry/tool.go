package telemetry

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// ToolCall is the span of one attempt at a tool call.
type ToolCall struct {
	telemetry *Telemetry
	span      trace.Span
	name      string
	began     time.Time
	content   bool
}

// StartToolCall starts the span of a tool call. `name` is the name by which the worker finds the tool. The context that it returns has the
// span, so tools can pass it on.
func (t *Telemetry) StartToolCall(ctx context.Context, o Operation, name, callID, arguments string) (context.Context, *ToolCall) {
	ctx, span := t.start(ctx, o.Parent, operationExecuteTool+" "+name, o.attributes(tool(name, callID)...))
	if t.content && span.IsRecording() {
		span.SetAttributes(attribute.String(toolArguments, arguments))
	}
	return ctx, &ToolCall{telemetry: t, span: span, name: name, began: time.Now(), content: t.content}
}

func tool(name, callID string) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String(operationName, operationExecuteTool), attribute.String(toolName, name)}
	if callID != "" {
		all = append(all, attribute.String(toolCallID, callID))
	}
	return all
}

// Ended ends the span of a call that has a result. `failure` is empty, or says in one word why the result is an error.
func (c *ToolCall) Ended(result, failure string) {
	defer c.span.End()
	labels := []attribute.KeyValue{attribute.String(operationName, operationExecuteTool), attribute.String(toolName, c.name)}
	if failure != "" {
		fail(c.span, failure)
		labels = append(labels, attribute.String(errorType, failure))
	}
	c.telemetry.meter().toolDuration.Record(context.Background(), time.Since(c.began).Seconds(), metric.WithAttributes(labels...))
	if c.content && c.span.IsRecording() {
		encoded, _ := json.Marshal(result) // cannot fail for a string
		c.span.SetAttributes(attribute.String(toolResult, string(encoded)))
	}
}

// RecalledToolCall makes the span of a tool call whose result an earlier run has. The span takes no time.
func (t *Telemetry) RecalledToolCall(ctx context.Context, o Operation, name, callID string) {
	t.recalled(ctx, o, operationExecuteTool+" "+name, tool(name, callID)...)
}

// StartCheck starts the span of a guardrail's check. `subject` says what is checked.
func (t *Telemetry) StartCheck(ctx context.Context, o Operation, guardrail, subject string) (context.Context, *ToolCall) {
	ctx, span := t.start(ctx, o.Parent, operationExecuteTool+" "+guardrail, o.attributes(append(tool(guardrail, ""), attribute.String(guardrailSubject, subject))...))
	return ctx, &ToolCall{telemetry: t, span: span, name: guardrail, began: time.Now()}
}
