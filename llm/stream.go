package llm

import "context"

// Delta is a piece of a reply, as the model writes it. One delta holds one of
// Text, Reasoning and ToolCall.
type Delta struct {
	Text      string
	Reasoning string
	ToolCall  *ToolCallDelta
}

// ToolCallDelta is a piece of a tool call.
type ToolCallDelta struct {
	// Index tells the calls of one reply apart: 0 for the one that came first.
	Index int
	// Name is whole, and set in the piece that brings it.
	Name string
	// Arguments is the next piece of the text of the arguments.
	Arguments string
}

type streamKey struct{}

// WithStream returns a context that has the [Client] asked with it tell f the
// reply's pieces as they come. It is a value of the context and no method of
// its own, so that it reaches through whatever wraps a Client.
//
// f is called in order, one call at a time, by the goroutine that called
// Complete and before Complete returns; it should return soon, since nothing is
// read meanwhile. f is for one Complete: asked twice, a client mixes two replies.
//
// Pieces are a preview, and only the reply counts. A reply may differ from its
// pieces, since it is put right when it is whole; when Complete returns an error
// its pieces are void; and a client that gets a reply all at once calls f not at all.
func WithStream(ctx context.Context, f func(Delta)) context.Context {
	return context.WithValue(ctx, streamKey{}, f)
}

// Stream returns the function that is told the pieces of a reply; one that does
// nothing when ctx has none. It is for implementations of [Client].
func Stream(ctx context.Context) func(Delta) {
	if f, ok := ctx.Value(streamKey{}).(func(Delta)); ok && f != nil {
		return f
	}
	return func(Delta) {}
}
