package lab

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// apart is a worker interceptor. It sends all activities to [doingQueue], and all sub-agents to [childrenQueue].
type apart struct {
	interceptor.WorkerInterceptorBase
}

func (*apart) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &apartInbound{}
	in.Next = next
	return in
}

type apartInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *apartInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &apartOutbound{}
	out.Next = next
	return i.Next.Init(out)
}

type apartOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *apartOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	return o.Next.ExecuteActivity(workflow.WithTaskQueue(ctx, doingQueue), name, args...)
}

func (o *apartOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	return o.Next.ExecuteChildWorkflow(workflow.WithWorkflowTaskQueue(ctx, childrenQueue), name, args...)
}

// The task queues that all stages share. doingQueue is for activities, and childrenQueue is for the workflows of sub-agents.
const (
	doingQueue    = "pairs-doing"
	childrenQueue = "pairs-children"
)

// ServePairs starts the workers that all stages share: one for activities and one for sub-agents. The activities LoadAgent,
// CallModel, CallTool and Notify stay open until the test completes them. All other activities work as usual.
func ServePairs(t *testing.T) {
	options, err := dial.ClientOptions("", "")
	require.NoError(t, err)
	doing, err := activities.New(activities.Options{Temporal: world.Temporal, Converter: options.DataConverter, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	pending := func(context.Context, converterInput) error { return activity.ErrResultPending }
	acts := worker.New(world.Temporal, doingQueue, worker.Options{DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 4})
	for _, name := range []string{protocol.LoadAgent, protocol.CallModel, protocol.CallTool, protocol.Notify} {
		acts.RegisterActivityWithOptions(pending, activity.RegisterOptions{Name: name})
	}
	acts.RegisterActivityWithOptions(doing.FindCall, activity.RegisterOptions{Name: protocol.FindCall})
	acts.RegisterActivityWithOptions(doing.FindMessages, activity.RegisterOptions{Name: protocol.FindMessages})
	acts.RegisterActivityWithOptions(doing.ReadAgent, activity.RegisterOptions{Name: protocol.ReadAgent})
	acts.RegisterActivityWithOptions(doing.AwaitAgent, activity.RegisterOptions{Name: protocol.AwaitAgent})
	acts.RegisterActivityWithOptions(doing.ReadProgress, activity.RegisterOptions{Name: protocol.ReadProgress})
	require.NoError(t, acts.Start())
	t.Cleanup(acts.Stop)

	children := worker.New(world.Temporal, childrenQueue, worker.Options{
		LocalActivityWorkerOnly: true, Interceptors: []interceptor.WorkerInterceptor{&apart{}},
	})
	workflows.New(workflows.Options{HeartbeatTimeout: time.Hour}).Register(children)
	require.NoError(t, children.Start())
	t.Cleanup(children.Stop)
}

// converterInput is a type to which the input of any activity can be decoded.
type converterInput map[string]any
