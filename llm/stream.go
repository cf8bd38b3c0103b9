package llm

import "context"

// Delta is one increment of a streamed reply. Exactly one of Text, Reasoning and ToolCall is set.
type Delta struct {
	// Text is the next part of the content.
	Text string
	// Reasoning is the next part of the reasoning.
	Reasoning string
	// ToolCall is the next part of a tool call.
	ToolCall *ToolCallDelta
}

// ToolCallDelta is one increment of a tool call in a streamed reply.
type ToolCallDelta struct {
	// Index identifies the call among the calls of the reply. The calls are numbered from 0, in the order in which their first
	// deltas arrive.
	Index int
	// Name is the name of the tool as far as it is known. It is empty if this delta does not change the name. If an endpoint
	// sends a name in several parts, each of these deltas has the whole name so far.
	Name string
	// Arguments is the next part of the text of the arguments.
	Arguments string
}

// streamKey is the context key of the function that [WithStream] adds to a context.
type streamKey struct{}

// WithStream lets the caller of [Client.Complete] see a reply while it arrives. It returns a copy of ctx that contains the
// function f. If Complete gets this context and receives the reply as a stream, it calls f with each [Delta]. A client that
// wraps another client passes f on with the context.
//
// Complete calls f in the goroutine that called Complete, in the order of the deltas, and never after Complete has returned.
// f should return quickly, because Complete does not read the response while f runs. Use the returned context for one call of
// Complete only. Otherwise f gets the deltas of several replies and cannot distinguish them.
//
// The deltas are a preview. The reply may differ from them, because the client corrects mistakes of the model after the last
// delta. If Complete returns an error, ignore the deltas. A client that does not stream never calls f.
func WithStream(ctx context.Context, f func(Delta)) context.Context {
	return context.WithValue(ctx, streamKey{}, f)
}

// Stream returns the function that [WithStream] has added to ctx. If there is none, Stream returns a function that does
// nothing. Implementations of [Client] call Stream to get the function for the deltas.
func Stream(ctx context.Context) func(Delta) {
	if f, ok := ctx.Value(streamKey{}).(func(Delta)); ok && f != nil {
		return f
	}
	return func(Delta) {}
}
