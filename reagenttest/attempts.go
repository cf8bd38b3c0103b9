package reagenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// attempts keeps the failures of the activities that are tried again, so that a test that waits for one of them can say why. It is safe for
// concurrent use.
type attempts struct {
	interceptor.WorkerInterceptorBase

	mu     sync.Mutex
	failed map[string]string // by the IDs of the agent and the activity
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (a *attempts) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &attempted{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, of: a}
}

type attempted struct {
	interceptor.ActivityInboundInterceptorBase

	of *attempts
}

// ExecuteActivity implements [interceptor.ActivityInboundInterceptor].
func (a *attempted) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := a.Next.ExecuteActivity(ctx, in)
	info := activity.GetInfo(ctx)
	a.of.ended(info.WorkflowExecution.ID, info.ActivityType.Name, info.ActivityID, err)
	return result, err
}

// ended is called when an attempt at an activity has ended.
func (a *attempts) ended(agentID, name, activityID string, err error) {
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	final := failed != nil && (failed.NonRetryable() || failed.Type() == protocol.StillRunning)
	at := agentID + " " + activityID
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil || final: // a wait for a sub-agent that is running fails each time
		delete(a.failed, at)
	case failed != nil:
		a.failed[at] = fmt.Sprintf("%s of %s is tried again: %s (%s)", name, agentID, failed.Message(), failed.Type())
	default:
		a.failed[at] = fmt.Sprintf("%s of %s is tried again: %v", name, agentID, err)
	}
}

// text returns a line for each activity whose last attempt has failed; "" if there is none.
func (a *attempts) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(a.failed)), "\n")
}
