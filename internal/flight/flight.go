// Package flight shares work among those who ask for it at the same time.
package flight

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// Do runs f once for all who ask for that name at the same time, and returns its result to each of them. Each waits
// as long as its own context lasts. F gets the values of the first one's context and is not cancelled with it.
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
