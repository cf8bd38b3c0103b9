package telemetry

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// IDs generates the IDs of spans: random ones, except for the span of a turn. It implements the interface IDGenerator of OpenTelemetry's SDK.
type IDs struct{}

type idsKey struct{}

// ids are the IDs that the next span is to have.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (i ids) in(ctx context.Context) context.Context { return context.WithValue(ctx, idsKey{}, i) }

// NewIDs returns the IDs of the first span of a trace.
func (IDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if wanted, ok := ctx.Value(idsKey{}).(ids); ok {
		return wanted.trace, wanted.span
	}
	var made ids
	_, _ = rand.Read(made.trace[:]) // never fails
	_, _ = rand.Read(made.span[:])
	return made.trace, made.span
}

// NewSpanID returns the ID of a span in a trace.
func (i IDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := i.NewIDs(ctx)
	return span
}
