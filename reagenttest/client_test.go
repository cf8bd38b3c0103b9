package reagenttest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/reagenttest"
)

// Fruit is the type of the clerk's answer.
type Fruit struct {
	Euros int `json:"euros"`
}

// Buy is a workflow of a program. It asks an agent for a price.
func Buy(ctx workflow.Context, question string) (Fruit, error) {
	return reagent.RunAs[Fruit](ctx, reagent.Task{Agent: "clerk", Message: question})
}

// newClerk returns a test environment with the workflow Buy and the agents clerk and helper. The plugin of the agents has the client
// that the function dial returns.
func newClerk(t *testing.T, model llm.Client, dial func(*testsuite.TestWorkflowEnvironment) client.Client) *testsuite.TestWorkflowEnvironment {
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.SetTestTimeout(30 * time.Second)
	price := reagent.Func("price", "Returns a price.", reagent.AtMostOnce, func(context.Context, struct{}) (string, error) { return "9 euros", nil })
	agents, err := reagent.New(t.Context(), dial(env), reagent.Options{
		Tools: []reagent.Tool{price}, HeartbeatTimeout: time.Second,
		Models: map[string]reagent.Model{"main": {Name: "scripted", Client: model, RequestsPerMinute: 60}},
		Agents: []reagent.Agent{{Name: "clerk", Tools: []string{"price"}, Agents: []string{"helper"}}, {Name: "helper"}},
	})
	require.NoError(t, err)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: reagent.DefaultTaskQueue})
	env.SetWorkerOptions(worker.Options{Plugins: []worker.Plugin{agents}})
	env.RegisterWorkflow(Buy)
	return env
}

// A program tests its workflow in Temporal's test environment. The agents of the workflow call their models and tools and have
// sub-agents. The task is longer than the part that a worker gets without a query.
func TestWorkflowWithAgentsRunsInTheTestEnvironment(t *testing.T) {
	model := llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Content == "ask the market":
			return llmtest.Say("9 euros, too"), nil
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "price", `{}`), llmtest.ToolCall("2", "helper", `{"task":"ask the market"}`)), nil
		default:
			return llmtest.Say(`{"euros":9}`), nil
		}
	})
	env := newClerk(t, model, reagenttest.Client)
	env.ExecuteWorkflow(Buy, "What is a cherry? "+strings.Repeat("Please. ", 500))
	require.True(t, env.IsWorkflowCompleted())
	var fruit Fruit
	require.NoError(t, env.GetWorkflowResult(&fruit))
	require.Equal(t, Fruit{9}, fruit)
}

// A model call that takes longer than the heartbeat timeout is not lost.
func TestSlowCallIsNotLostInTheTestEnvironment(t *testing.T) {
	calls, beats := 0, make(chan struct{}, 100)
	model := llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		calls++
		for range 4 { // there are two in the heartbeat timeout
			select {
			case <-beats:
			case <-ctx.Done():
				return llm.Reply{}, ctx.Err()
			}
		}
		return llmtest.Say(`{"euros":9}`), nil
	})
	env := newClerk(t, model, reagenttest.Client)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats <- struct{}{} })
	env.ExecuteWorkflow(Buy, "What is a cherry?")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, calls)
}

// With a client of a server, the agents would wait for ever. The environment says so at once.
func TestClientOfAServerIsRefusedInTheTestEnvironment(t *testing.T) {
	env := newClerk(t, llmtest.Script(), func(*testsuite.TestWorkflowEnvironment) client.Client {
		c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	})
	require.PanicsWithError(t, "reagent: the agents would wait for ever in Temporal's test environment, because the client is for a server: "+
		"call New with the client of reagenttest.Client", func() { env.ExecuteWorkflow(Buy, "What is a cherry?") })
}

// What needs other workflows or histories ends with an error and not with a test that hangs. Here a workflow runs two agents with one ID.
func TestAgentThatNeedsAServerFailsInTheTestEnvironment(t *testing.T) {
	env := newClerk(t, llmtest.Script(llmtest.Say("one"), llmtest.Say("two")), reagenttest.Client)
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		for range 2 {
			if _, err := reagent.Run(ctx, reagent.Task{Agent: "clerk", Message: "one", ID: "same"}); err != nil {
				return err
			}
		}
		return nil
	}, workflow.RegisterOptions{Name: "twice"})
	env.ExecuteWorkflow("twice")
	require.ErrorContains(t, env.GetWorkflowError(), "there is no Temporal server in the test environment")
}
