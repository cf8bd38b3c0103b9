package workflows_test

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// Greet is a workflow of an application. It runs an agent as a child workflow.
func Greet(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: "greet-" + name})
	var result protocol.Result
	err := workflow.ExecuteChildWorkflow(ctx, protocol.AgentWorkflow, agent.Start{
		Agent: "greeter", Message: &agent.QueuedMessage{ID: "first", Text: "Greet " + name},
	}).Get(ctx, &result)
	return result.Answer, err
}

// An agent is a workflow, so other workflows can run it as a child. Here both run in Temporal's test environment, with a
// scripted model.
func Example() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	workflows.New(workflows.Options{}).Register(env)
	env.RegisterWorkflow(Greet)
	model := llmtest.Script(llmtest.Say("Hello, Ada."))
	env.RegisterActivityWithOptions(func(context.Context, protocol.LoadAgentInput) (agent.Definition, error) {
		return agent.Definition{Name: "greeter", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}}, nil
	}, activity.RegisterOptions{Name: protocol.LoadAgent})
	env.RegisterActivityWithOptions(func(ctx context.Context, in protocol.CallModelInput) (llm.Reply, error) {
		return model.Complete(ctx, llm.Request{Messages: in.Delta})
	}, activity.RegisterOptions{Name: protocol.CallModel})

	env.ExecuteWorkflow(Greet, "Ada")

	var answer string
	if err := env.GetWorkflowResult(&answer); err != nil {
		panic(err)
	}
	fmt.Println(answer)
	// Output: Hello, Ada.
}

// StaticSummary returns the line that a list of workflows in the Web UI shows for an agent.
func ExampleStaticSummary() {
	fmt.Println(workflows.StaticSummary(agent.Start{
		Agent: "assistant", Message: &agent.QueuedMessage{ID: "first", Text: "What is\nin docs/?"},
	}))
	// Output: assistant · What is in docs/?
}
