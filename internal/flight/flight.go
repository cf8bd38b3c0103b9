// Package flight runs a function once for all callers that need its result at the same time.
package flight

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// Do runs f once for all callers that use the same group and name at the same time, and returns the result to each of them. If
// the context of one caller ends, this caller gets the error of its context at once, and f continues for the others. The
// context of f has the values of the first caller's context, and is never cancelled.
func Do[T any](ctx context.Context, group *singleflight.Group, name string, f func(ctx context.Context) (T, error)) (T, error) {
	shared := context.WithoutCancel(ctx)
	select {
	case r := <-group.DoChan(name, func() (any, error) { return f(shared) }):
		v, _ := r.Val.(T)
		return v, r.Err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
