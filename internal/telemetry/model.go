package telemetry

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Operation is what all spans of operations have in common.
type Operation struct {
	// Parent is the traceparent of the turn.
	Parent  string
	AgentID string
	RunID   string
	Key     agent.Key
	// Attempt counts the tries, from 1.
	Attempt int
}

func (o Operation) attributes(more ...attribute.KeyValue) trace.SpanStartEventOption {
	all := slices.Concat(more, []attribute.KeyValue{attribute.String(conversationID, o.AgentID), attribute.String(runID, o.RunID), attribute.String(callKey, string(o.Key))})
	if o.Attempt > 0 {
		all = append(all, attribute.Int(attempt, o.Attempt))
	}
	return trace.WithAttributes(all...)
}

// ModelCall is the span of one request to a model.
type ModelCall struct {
	telemetry *Telemetry
	span      trace.Span
	labels    []attribute.KeyValue
	began     time.Time
	first     time.Duration // 0 if no part of the reply has come
}

// StartModelCall starts the span of a request. The context that it returns has the span.
func (t *Telemetry) StartModelCall(ctx context.Context, o Operation, server llm.Server, req llm.Request) (context.Context, *ModelCall) {
	model := req.Candidates[0].Model
	known := []attribute.KeyValue{attribute.String(operationName, operationChat), attribute.String(requestModel, model)}
	if server != (llm.Server{}) {
		known = append(known, attribute.String(providerName, server.Provider), attribute.String(serverAddress, server.Address), attribute.Int(serverPort, server.Port))
	}
	ctx, span := t.start(ctx, o.Parent, operationChat+" "+model, trace.WithSpanKind(trace.SpanKindClient), o.attributes(known...))
	c := &ModelCall{telemetry: t, span: span, labels: known, began: time.Now()}
	if span.IsRecording() {
		span.SetAttributes(parameters(req.Params)...)
		if t.content {
			span.SetAttributes(attribute.String(systemInstructions, instructions(req.Messages)), attribute.String(inputMessages, conversation(req.Messages)))
		}
	}
	return ctx, c
}

// parameters has the parameters that are set.
func parameters(p llm.Params) (all []attribute.KeyValue) {
	if p.MaxOutputTokens > 0 {
		all = append(all, attribute.Int(requestMaxTokens, p.MaxOutputTokens))
	}
	if p.Temperature != nil {
		all = append(all, attribute.Float64(requestTemperature, *p.Temperature))
	}
	if p.TopP != nil {
		all = append(all, attribute.Float64(requestTopP, *p.TopP))
	}
	if len(p.OutputSchema) > 0 {
		all = append(all, attribute.String(outputType, "json"))
	}
	return all
}

// Heard tells the span that a part of the reply has come. It is called by one goroutine.
func (c *ModelCall) Heard() {
	if c.first == 0 {
		c.first = max(time.Since(c.began), 1)
	}
}

// Replied ends the span of a request that has a reply.
func (c *ModelCall) Replied(reply llm.Reply, cost agent.Money) {
	defer c.span.End()
	c.measure("", reply.Usage, cost)
	if !c.span.IsRecording() {
		return
	}
	c.span.SetAttributes(attribute.StringSlice(finishReasons, []string{reply.FinishReason}))
	if reply.Model != "" {
		c.span.SetAttributes(attribute.String(responseModel, reply.Model))
	}
	if cost > 0 {
		c.span.SetAttributes(attribute.Float64(costUSD, cost.Dollars()))
	}
	c.streamed()
	c.span.SetAttributes(usage(reply.Usage)...)
	if c.telemetry.content {
		c.span.SetAttributes(attribute.String(outputMessages, answer(reply)))
	}
}

func (c *ModelCall) streamed() {
	if c.first > 0 {
		c.span.SetAttributes(attribute.Bool(requestStream, true), attribute.Float64(timeToFirstChunk, c.first.Seconds()))
	}
}

// Failed ends the span of a request that has failed. The text of the error may contain what the provider sent, so the span has only its class.
// `cost` is the price of an empty reply.
func (c *ModelCall) Failed(err error, cost func(llm.Usage) agent.Money) {
	defer c.span.End()
	class, used := string(llm.Connection), llm.Usage{}
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		class = string(known.Class)
		used = known.Usage
		c.span.SetAttributes(usage(used)...)
	case errors.Is(err, context.Canceled):
		class = "cancelled"
	}
	c.streamed()
	fail(c.span, class)
	c.measure(class, used, cost(used))
}

// measure records the metrics of the request. `class` is empty for a request that has a reply. The usage of an empty reply is that of the
// error: it was paid for, too.
func (c *ModelCall) measure(class string, u llm.Usage, cost agent.Money) {
	ctx, labels := context.Background(), c.labels
	model := attribute.NewSet(labels...)
	if class != "" {
		labels = append(slices.Clone(labels), attribute.String(errorType, class))
	}
	m := c.telemetry.meter()
	m.modelDuration.Record(ctx, time.Since(c.began).Seconds(), metric.WithAttributes(labels...))
	if c.first > 0 {
		m.firstChunk.Record(ctx, c.first.Seconds(), metric.WithAttributeSet(model))
	}
	m.used(u, cost, model)
}

func fail(span trace.Span, class string) {
	span.SetAttributes(attribute.String(errorType, class))
	span.SetStatus(codes.Error, class)
}

func usage(u llm.Usage) (all []attribute.KeyValue) {
	for _, count := range []struct {
		name string
		n    int
	}{
		{inputTokens, u.InputTokens}, {outputTokens, u.OutputTokens}, {cacheReadTokens, u.CachedTokens},
		{cacheWriteTokens, u.CacheWriteTokens}, {reasoningTokens, u.ReasoningTokens},
	} {
		if count.n > 0 {
			all = append(all, attribute.Int(count.name, count.n))
		}
	}
	return all
}

// RecalledModelCall makes the span of a model call whose reply an earlier run has. The span takes no time and has no usage, because nothing
// was paid for.
func (t *Telemetry) RecalledModelCall(ctx context.Context, o Operation, reply llm.Reply) {
	t.recalled(ctx, o, operationChat+" "+reply.Model, attribute.String(operationName, operationChat), attribute.String(responseModel, reply.Model))
}

func (t *Telemetry) recalled(ctx context.Context, o Operation, name string, more ...attribute.KeyValue) {
	now := time.Now()
	_, span := t.start(ctx, o.Parent, name, trace.WithTimestamp(now), o.attributes(append(more, attribute.Bool(recalled, true))...))
	span.End(trace.WithTimestamp(now))
}
