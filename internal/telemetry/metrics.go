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

// instruments are the metrics. Their labels are the names of agents, models and tools in configurations, and words of the code, so there are
// few of them. No label has the ID of an agent.
type instruments struct {
	modelDuration, firstChunk, toolDuration, turnDuration, waitDuration metric.Float64Histogram
	tokens, inputByCache, outputByPhase                                 metric.Int64Counter
	cost                                                                metric.Float64Counter
	events                                                              metric.Int64Counter
}

// The boundaries of the histograms, in seconds: those of the conventions for calls, and longer ones for turns and people.
var (
	callSeconds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	longSeconds = metric.WithExplicitBucketBoundaries(0.1, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 4*3600, 24*3600, 7*24*3600)
)

func newInstruments(m metric.Meter) *instruments {
	var i instruments
	histogram := func(to *metric.Float64Histogram, name, description string, boundaries metric.Float64HistogramOption) {
		*to = made(m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), boundaries))
	}
	counter := func(to *metric.Int64Counter, name, unit, description string) {
		*to = made(m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
	}
	histogram(&i.modelDuration, "gen_ai.client.operation.duration", "Duration of a request to a model.", callSeconds)
	histogram(&i.firstChunk, "gen_ai.client.operation.time_to_first_chunk", "Time to the first part of a streamed reply.", callSeconds)
	histogram(&i.toolDuration, "gen_ai.execute_tool.duration", "Duration of an attempt at a tool call.", callSeconds)
	histogram(&i.turnDuration, "gen_ai.invoke_agent.duration", "Duration of a turn, from the message to the answer.", longSeconds)
	histogram(&i.waitDuration, "reagent.wait.duration", "Time for which a call waited for somebody outside.", longSeconds)
	counter(&i.tokens, "gen_ai.client.inference.tokens", "{token}", "Tokens of the replies of models.")
	counter(&i.inputByCache, "gen_ai.client.inference.input_tokens_by_cache", "{token}", "Input tokens, by what the cache did.")
	counter(&i.outputByPhase, "gen_ai.client.inference.output_tokens_by_phase", "{token}", "Output tokens, by their use.")
	counter(&i.events, "reagent.agent.events", "{event}", "What happened to agents.")
	i.cost = made(m.Float64Counter("reagent.cost", metric.WithUnit("{USD}"), metric.WithDescription("Cost of the replies of models that have a price.")))
	return &i
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

// The events. The first ones are counts of [agent.Usage] with the same names.
const (
	Recalled        Event = "recalled"
	Reattached      Event = "reattached"
	Unanswered      Event = "unanswered"
	Repaired        Event = "repaired"
	RepairedReplies Event = "repaired_reply"
	EmptyReplies    Event = "empty_reply"
	Compactions     Event = "compaction"
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
