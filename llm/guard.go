package llm

import "context"

type guardKey struct{}

// WithGuard lets the caller of [Client.Complete] stop a request at the last moment. It returns a copy of `ctx` that contains the function
// `f`. A client calls `f` for each request that it sends, when there is a connection and before any byte of the body leaves the process.
// If `f` returns an error, the body is not sent, and Complete fails. At that moment, the endpoint has the headers of the request at most.
//
// A check before Complete is not enough, because the process may be suspended for any time between the check and the request.
//
// Complete may call `f` in another goroutine, but not after it has returned. A client that sends no requests never calls `f`.
func WithGuard(ctx context.Context, f func() error) context.Context {
	return context.WithValue(ctx, guardKey{}, f)
}

// Guard returns the function that [WithGuard] has added to `ctx`. If there is none, it returns a function that returns nil.
// Implementations of [Client] call Guard.
func Guard(ctx context.Context) func() error {
	if f, ok := ctx.Value(guardKey{}).(func() error); ok && f != nil {
		return f
	}
	return func() error { return nil }
}
