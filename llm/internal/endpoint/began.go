package endpoint

import (
	"context"

	"github.com/reagent-dev/reagent/llm"
)

// Began returns a context for the requests of a client, and a function that reports whether a reply has begun: whether the function of
// [llm.WithStream] was called. After that, the client must not send the request again, because the model has processed it. Call the
// returned function only in the goroutine that reads the reply.
func Began(ctx context.Context) (context.Context, func() bool) {
	began, tell := false, llm.Stream(ctx)
	ctx = llm.WithStream(ctx, func(d llm.Delta) {
		began = true
		tell(d)
	})
	return ctx, func() bool { return began }
}
