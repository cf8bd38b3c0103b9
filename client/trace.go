package client

import (
	"context"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/traceparent"
)

// traced gives a message the trace of the span in the context, if there is one. The message may be nil.
func traced(ctx context.Context, m *agent.QueuedMessage) {
	if m != nil {
		m.Traceparent = traceparent.In(ctx)
	}
}
