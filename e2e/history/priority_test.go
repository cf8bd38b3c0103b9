package history_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// An agent keeps its priority and its tenant over a continue-as-new, a reset, a resume and a fork. Its sub-agents have its tenant,
// and a lower priority. A priority in the definition holds for the model calls. A task without options has no priority.
func TestPriorityAndTenantAreKept(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && last.Content == "ask the clerk" {
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	seen := callPriorities{of: make(chan calledWith, 1000)}
	// A task that Temporal gives out early, without the queue, does not show its priority.
	w.WorkerHere(worker.Options{DisableEagerActivities: true, Interceptors: []interceptor.WorkerInterceptor{&seen}}, func(*agent.Definition) {},
		activities.Agent{Name: "x", Model: "main", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main"},
		activities.Agent{Name: "late", Model: "main", Priority: 5},
	)
	priority := func(id string) *commonpb.Priority {
		found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		return found.GetWorkflowExecutionInfo().GetPriority()
	}
	requirePriority := func(id string, key int32) {
		require.Equal(t, key, priority(id).GetPriorityKey(), id)
		require.Equal(t, "acme", priority(id).GetFairnessKey(), id)
	}
	task, chat, late := t.Name()+"-task", t.Name()+"-chat", t.Name()+"-late"
	w.Must("run", "-a", "x", "--id", task, "go")
	require.Nil(t, priority(task))
	_, err := w.Client.Start(t.Context(), reagent.StartOptions{ID: late, Agent: "late", Message: "go", Tenant: "acme"})
	require.NoError(t, err)
	requirePriority(late, 0)
	w.Must("run", "-a", "x", "--chat", "--tenant", "acme", "--id", chat, "ask the clerk")
	requirePriority(chat, 2)
	want := map[string]temporal.Priority{
		task: {}, late: {PriorityKey: 5, FairnessKey: "acme"}, chat: {PriorityKey: 2, FairnessKey: "acme"}, "clerk": {PriorityKey: 4, FairnessKey: "acme"},
	}
	for len(want) > 0 {
		call := <-seen.of
		id := call.id
		if strings.HasPrefix(id, chat+"/") {
			requirePriority(id, 4)
			id = "clerk"
		}
		if p, known := want[id]; known {
			require.Equal(t, p, call.priority, id)
			delete(want, id)
		}
	}

	first := w.RunID(chat)
	w.Roll(chat)
	requirePriority(chat, 2)
	w.Reset(chat, first, 1)
	w.Transcript(chat, 4)
	requirePriority(chat, 2)
	w.TerminateAgent(chat)
	w.Must("resume", "--detach", chat)
	w.Transcript(chat, 4)
	requirePriority(chat, 2)
	fork, err := w.Client.Fork(t.Context(), chat, reagent.ForkOptions{})
	require.NoError(t, err)
	requirePriority(fork.ID, 2)
	w.NothingTwice()

	_, stderr, code := w.Starter("run", "-a", "x", "--priority", "6", "go")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--priority: the priority is 6; use 1 (highest) to 5 (lowest)")
}

// callPriorities is a worker interceptor that passes on the priorities of model calls.
type callPriorities struct {
	interceptor.WorkerInterceptorBase
	of chan calledWith
}

// calledWith is the priority with which Temporal gave out a model call of an agent.
type calledWith struct {
	id       string
	priority temporal.Priority
}

func (c *callPriorities) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &seenCall{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, of: c.of}
}

type seenCall struct {
	interceptor.ActivityInboundInterceptorBase
	of chan calledWith
}

func (c *seenCall) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if info := activity.GetInfo(ctx); info.ActivityType.Name == protocol.CallModel {
		c.of <- calledWith{id: info.WorkflowExecution.ID, priority: info.Priority}
	}
	return c.Next.ExecuteActivity(ctx, in)
}
