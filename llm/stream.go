package llm

import "context"

// Delta is one part of a streamed reply. Exactly one of Text, Reasoning and ToolCall is set.
type Delta struct {
	// Text is the next part of the content.
	Text string
	// Reasoning is the next part of the reasoning.
	Reasoning string
	// ToolCall is the next part of a tool call.
	ToolCall *ToolCallDelta
	// Whole says that this is not the next part: it takes the place of all earlier deltas of the text, of the reasoning, or of the arguments
	// of the same call. An endpoint may correct at the end of a part what it has streamed before.
	Whole bool
}

// ToolCallDelta is one part of a tool call in a streamed reply.
type ToolCallDelta struct {
	// Index identifies the call among the calls of the reply. The calls are numbered from 0, in the order in which they begin.
	Index int
	// Name is the name of the tool so far. It is empty if this delta does not change the name. An endpoint may send a name in
	// several parts. In this case, each of these deltas has the whole name so far.
	Name string
	// Arguments is the next part of the text of the arguments.
	Arguments string
}

type streamKey struct{}

// WithStream lets the caller of [Client.Complete] see a reply while it arrives. It returns a copy of `ctx` that contains the
// function `f`. If Complete gets this copy and receives the reply as a stream, it calls `f` with each [Delta]. A client that
// wraps another client passes the context on.
//
// Complete calls `f` in the goroutine of its caller, in the order of the deltas, and never after Complete has returned. `f`
// should return quickly, because Complete does not read the response while `f` runs. Use the returned context for only one
// call of Complete. With several calls, `f` could not know to which reply a delta belongs.
//
// The deltas are a preview. The reply may differ from them, because the client corrects mistakes of the model after the last
// delta. If Complete returns an error, ignore the deltas. A client that does not stream never calls `f`.
func WithStream(ctx context.Context, f func(Delta)) context.Context {
	return context.WithValue(ctx, streamKey{}, f)
}

// Stream returns the function that [WithStream] has added to `ctx`. If there is none, it returns a function that does nothing.
// Implementations of [Client] call Stream to get the function for the deltas.
func Stream(ctx context.Context) func(Delta) {
	if f, ok := ctx.Value(streamKey{}).(func(Delta)); ok && f != nil {
		return f
	}
	return func(Delta) {}
}
