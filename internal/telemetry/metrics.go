package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// instruments make the metrics that are counted and measured where something happens: see [Metrics].
type instruments struct {
	modelDuration, firstChunk, toolDuration, turnDuration, waitDuration, limitUsed metric.Float64Histogram
	tokens, inputByCache, outputByPhase, events                                    metric.Int64Counter
	cost                                                                           metric.Float64Counter
}

func newInstruments(m metric.Meter) *instruments {
	histogram := func(of Metric) metric.Float64Histogram {
		return made(m.Float64Histogram(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.Description), metric.WithExplicitBucketBoundaries(of.boundaries...)))
	}
	counter := func(of Metric) metric.Int64Counter {
		return made(m.Int64Counter(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.Description)))
	}
	return &instruments{
		modelDuration: histogram(modelDuration), firstChunk: histogram(firstChunk), toolDuration: histogram(toolDuration), turnDuration: histogram(turnDuration),
		waitDuration: histogram(waitDuration), limitUsed: histogram(limitUsed),
		tokens: counter(modelTokens), inputByCache: counter(inputByCache), outputByPhase: counter(outputByPhase), events: counter(agentEvents),
		cost: made(m.Float64Counter(modelCost.Name, metric.WithUnit(modelCost.Unit), metric.WithDescription(modelCost.Description))),
	}
}

// made returns an instrument. A meter that cannot make it returns one that does nothing, and the error goes where all errors of
// OpenTelemetry go.
func made[I any](instrument I, err error) I {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

func (i *instruments) used(u llm.Usage, cost agent.Money, model attribute.Set) {
	ctx, labels := context.Background(), metric.WithAttributeSet(model)
	count := func(c metric.Int64Counter, n int, name, value string) {
		if n > 0 {
			c.Add(ctx, int64(n), labels, metric.WithAttributes(attribute.String(name, value)))
		}
	}
	count(i.tokens, u.InputTokens, tokenType, "input")
	count(i.tokens, u.OutputTokens, tokenType, "output")
	count(i.inputByCache, u.CachedTokens, tokenCache, "read")
	count(i.inputByCache, u.CacheWriteTokens, tokenCache, "creation")
	count(i.inputByCache, u.InputTokens-u.CachedTokens-u.CacheWriteTokens, tokenCache, "none")
	count(i.outputByPhase, u.ReasoningTokens, tokenPhase, "reasoning")
	count(i.outputByPhase, u.OutputTokens-u.ReasoningTokens, tokenPhase, "response")
	if cost > 0 {
		i.cost.Add(ctx, cost.Dollars(), labels)
	}
}

// Event is something that happened to an agent, for the metric reagent.agent.events.
type Event string

// The events. All but the last are counts of [agent.Usage] with the same names.
const (
	Recalled        Event = "recalled"
	Reattached      Event = "reattached"
	Unanswered      Event = "unanswered"
	Repaired        Event = "repaired"
	RepairedReplies Event = "repaired_reply"
	EmptyReplies    Event = "empty_reply"
	Compactions     Event = "compaction"
	Interrupted     Event = "interrupted"
)

// Count counts events of an agent with the given definition.
func (t *Telemetry) Count(agent string, e Event, n int) {
	if t != nil && n > 0 {
		t.meter().events.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String(agentName, agent), attribute.String(eventName, string(e))))
	}
}

// Waited records how long a call has waited for somebody outside.
func (t *Telemetry) Waited(agentNamed, waitsFor, tool string, d time.Duration) {
	if t != nil {
		t.meter().waitDuration.Record(context.Background(), d.Seconds(), metric.WithAttributes(
			attribute.String(agentName, agentNamed), attribute.String(waitFor, waitsFor), attribute.String(toolName, tool)))
	}
}
