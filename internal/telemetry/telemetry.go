// Package telemetry makes the OpenTelemetry spans and metrics of agents, by the conventions for generative AI: see [Conventions].
//
// A trace belongs to the message that caused the work. The span of a turn is made when the turn ends, by the worker that runs the task in
// which it ends. Until then, the spans of its model calls and tool calls already name it as their parent, because its ID is a hash: see
// [agent.TurnSpan]. So nothing is stored to connect them, and a replay makes no span.
//
// What is paid for is counted where it happens, in the attempt of the activity. What a worker counts and nobody has read is lost with it.
package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/reagent-dev/reagent/internal/traceparent"
)

// scope is the name of the instrumentation scope of all spans and metrics.
const scope = "github.com/reagent-dev/reagent"

// Options are the options of a [Telemetry].
type Options struct {
	// Tracers makes the spans. Nil means OpenTelemetry's global provider, which makes none unless the program has set it.
	Tracers trace.TracerProvider
	// Meters makes the metrics. Nil means OpenTelemetry's global provider, which makes none unless the program has set it.
	Meters metric.MeterProvider
	// Content adds what people, models and tools say to the spans.
	Content bool
}

// Telemetry makes spans and metrics. It is safe for concurrent use. Its methods do not block. A nil Telemetry makes none.
type Telemetry struct {
	content bool
	tracer  func() trace.Tracer
	meter   func() *instruments
	// provider returns the provider of the meter.
	provider func() metric.MeterProvider
	// active reports whether there are spans at all.
	active func() bool
	// chooses reports whether the provider takes its IDs from [IDs].
	chooses func() bool
	told    told
}

// New returns the telemetry with the given options. It uses the global providers as they are when it first needs them.
func New(o Options) *Telemetry {
	t := &Telemetry{content: o.Content}
	t.tracer = sync.OnceValue(func() trace.Tracer {
		if o.Tracers == nil {
			o.Tracers = otel.GetTracerProvider()
		}
		return o.Tracers.Tracer(scope, trace.WithSchemaURL(schemaURL))
	})
	t.provider = sync.OnceValue(func() metric.MeterProvider {
		if o.Meters == nil {
			return otel.GetMeterProvider()
		}
		return o.Meters
	})
	t.meter = sync.OnceValue(func() *instruments { return newInstruments(t.provider().Meter(scope, metric.WithSchemaURL(schemaURL))) })
	wanted := ids{trace: trace.TraceID{1}, span: trace.SpanID{1}}
	t.active = sync.OnceValue(func() bool { return t.probe(wanted).IsValid() })
	t.chooses = sync.OnceValue(func() bool { return t.probe(wanted).SpanID() == wanted.span })
	return t
}

// probe returns the context that a span with these IDs would have. A span that never ends is never exported.
func (t *Telemetry) probe(wanted ids) trace.SpanContext {
	_, span := t.tracer().Start(wanted.in(context.Background()), "probe", trace.WithNewRoot()) //nolint:spancheck // it must not be exported
	return span.SpanContext()                                                                  //nolint:spancheck // see above
}

// start starts the span of an operation. `parent` is a traceparent; an empty one, or one that is not valid, means that the operation
// belongs to no trace, and then its span begins one.
func (t *Telemetry) start(ctx context.Context, parent, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.tracer().Start(traceparent.Below(ctx, parent), name, options...) //nolint:spancheck // the caller ends it
}
