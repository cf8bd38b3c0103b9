package activities

import (
	"context"
	"sync/atomic"

	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Current runs activities with the configuration that it was given last, so that the configuration of a worker can change while the worker
// runs. An activity that is running ends with the configuration with which it began. Current is safe for concurrent use. Create it with
// [NewCurrent].
type Current struct {
	newest atomic.Pointer[Activities]
}

// NewCurrent returns a Current with these activities.
func NewCurrent(a *Activities) *Current {
	c := new(Current)
	c.Set(a)
	return c
}

// Set lets activities that begin from now on run with the configuration of `a`: see [Activities.With].
func (c *Current) Set(a *Activities) { c.newest.Store(a) }

// Get returns the activities that were set last.
func (c *Current) Get() *Activities { return c.newest.Load() }

// CallModel is [Activities.CallModel] of the current activities.
func (c *Current) CallModel(ctx context.Context, in protocol.CallModelInput) (protocol.ModelResult, error) {
	return c.Get().CallModel(ctx, in)
}

// CallTool is [Activities.CallTool] of the current activities.
func (c *Current) CallTool(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
	return c.Get().CallTool(ctx, in)
}

// Registry is the part of the SDK's `worker.Worker` that [Current.Register] needs.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities with a worker. The names of the activities are constants of the package `protocol`, such
// as [protocol.CallModel].
func (c *Current) Register(r Registry) {
	for name, run := range map[string]any{
		protocol.LoadAgent: returning(c, (*Activities).LoadAgent), protocol.CallModel: c.CallModel, protocol.CallTool: c.CallTool,
		protocol.CheckText: returning(c, (*Activities).CheckText), protocol.ResolveOverrides: returning(c, (*Activities).ResolveOverrides),
		protocol.AwaitAgent: returning(c, (*Activities).AwaitAgent), protocol.ReadAgent: returning(c, (*Activities).ReadAgent),
		protocol.FindMessages: returning(c, (*Activities).FindMessages), protocol.ReadProgress: returning(c, (*Activities).ReadProgress),
		protocol.FindCall: returning(c, (*Activities).FindCall), protocol.Notify: doing(c, (*Activities).Notify),
	} {
		r.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}

// Register registers the activities with a worker whose configuration does not change: see [Current.Register].
func (a *Activities) Register(r Registry) { NewCurrent(a).Register(r) }

func returning[In, Out any](c *Current, method func(*Activities, context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) { return method(c.Get(), ctx, in) }
}

func doing[In any](c *Current, method func(*Activities, context.Context, In) error) func(context.Context, In) error {
	return func(ctx context.Context, in In) error { return method(c.Get(), ctx, in) }
}
