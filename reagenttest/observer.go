package reagenttest

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// observer tells an environment what its workflows start. Everything happens in the loop of the environment.
type observer struct {
	interceptor.WorkerInterceptorBase

	of *environment
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (o *observer) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &observed{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, of: o.of}
}

type observed struct {
	interceptor.WorkflowInboundInterceptorBase

	of *environment
}

// Init implements [interceptor.WorkflowInboundInterceptor].
func (o *observed) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return o.Next.Init(&starts{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: next}, of: o.of})
}

type starts struct {
	interceptor.WorkflowOutboundInterceptorBase

	of *environment
}

// ExecuteActivity implements [interceptor.WorkflowOutboundInterceptor].
func (s *starts) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	s.of.calling++
	s.of.begins(workflow.GetInfo(ctx).WorkflowExecution.ID)
	return s.Next.ExecuteActivity(ctx, name, args...)
}

// ExecuteChildWorkflow implements [interceptor.WorkflowOutboundInterceptor].
func (s *starts) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	s.of.begins(workflow.GetInfo(ctx).WorkflowExecution.ID)
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID
	if name == protocol.AgentWorkflow && id != "" && !s.of.begun[id] && !s.of.starting[id] {
		s.of.starting[id] = true
		s.of.calling++
	}
	return s.Next.ExecuteChildWorkflow(ctx, name, args...)
}

// begins is called when a workflow starts an activity or a sub-agent.
func (e *environment) begins(id string) {
	if e.starting[id] {
		delete(e.starting, id)
		e.calling--
	}
	if !e.begun[id] {
		e.begun[id] = true
		e.arm()
	}
}
