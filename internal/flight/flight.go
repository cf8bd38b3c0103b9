// Package flight runs a function once for all callers that need its result at the same time.
package flight

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// Do runs the function `f` once for all callers that use the same group and name at the same time. It returns the result to
// each of these callers. If the context of one caller ends, this caller gets the error of its context at once. For the other
// callers, `f` continues. The context of `f` has the values of the first caller's context, and is never cancelled.
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
