package reagent

import "github.com/reagent-dev/reagent/internal/telemetry"

// SpanIDs generates the IDs of spans, for sdktrace.WithIDGenerator. All IDs are random except those of turns. The ID of a turn's span is known
// before it ends, so the spans of its calls lie below it, whichever workers make them. With another generator, they lie beside it, in the
// same trace.
type SpanIDs = telemetry.IDs
