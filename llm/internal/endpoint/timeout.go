package endpoint

import (
	"context"
	"errors"
	"time"
)

// ErrTimeout means that a response did not come in time: see [WithTimeout].
var ErrTimeout = errors.New("the timeout of the model has passed; if the model needs more time, set a longer timeout")

// WithTimeout returns a context that ends with the cause [ErrTimeout] after the time `limit`. The function `renew` restarts this time.
// A client calls `renew` for each part of a streamed reply, because a model may write for a long time. The function `cancel` releases
// the resources of the context.
func WithTimeout(ctx context.Context, limit time.Duration) (limited context.Context, renew, cancel func()) {
	limited, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { end(ErrTimeout) })
	return limited, func() { timer.Reset(limit) }, func() {
		timer.Stop()
		end(nil)
	}
}
