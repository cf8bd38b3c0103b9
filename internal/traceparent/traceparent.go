// Package traceparent passes the position in a trace on, in the form of W3C Trace Context: https://www.w3.org/TR/trace-context.
package traceparent

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Name is the name of the header with a traceparent.
const Name = "traceparent"

// propagator reads and writes traceparents. It has no state.
var propagator = propagation.TraceContext{}

// In returns the traceparent of the span in a context; "" if there is none.
func In(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	return carrier[Name]
}

// Below returns a context whose span is that of a traceparent. It is the context itself if the traceparent is empty or not valid.
func Below(ctx context.Context, parent string) context.Context {
	found := trace.SpanContextFromContext(propagator.Extract(context.Background(), propagation.MapCarrier{Name: parent}))
	if !found.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, found)
}
