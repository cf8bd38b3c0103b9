package world

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// Hold is a worker interceptor that lets all activities of one type wait at a gate.
type Hold struct {
	interceptor.WorkerInterceptorBase
	*Gate
	activity string
}

// NewHold returns a Hold for activities of the given type.
func NewHold(activity string) *Hold { return &Hold{Gate: NewGate(), activity: activity} }

// InterceptActivity is the method of a worker interceptor.
func (h *Hold) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &held{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, by: h}
}

type held struct {
	interceptor.ActivityInboundInterceptorBase
	by *Hold
}

func (h *held) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).ActivityType.Name == h.by.activity {
		if err := h.by.Pass(ctx); err != nil {
			return nil, err
		}
	}
	return h.Next.ExecuteActivity(ctx, in)
}
