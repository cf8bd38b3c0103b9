package main

import (
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Glossary is a workflow of one's own. It has one agent explain each topic, all at the same time, and
// returns the explanations in the order of the topics.
func Glossary(ctx workflow.Context, topics []string) ([]string, error) {
	lines := make([]string, len(topics))
	group := workflow.NewWaitGroup(ctx)
	var failed error
	for i, topic := range topics {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			// Made of what is asked: another topic is another agent, the same one is the same.
			id := workflow.GetInfo(ctx).WorkflowExecution.ID + "/" + strings.Join(strings.Fields(topic), "-")
			answer, err := ask(ctx, id, "writer", topic)
			if err != nil {
				failed = fmt.Errorf("%s: %w", topic, err)
			}
			lines[i] = topic + ": " + answer
		})
	}
	group.Wait(ctx)
	return lines, failed
}

// ask runs an agent under an ID and returns its answer. Where this workflow was reset, or
// started again after it was terminated, the agent of that ID is there already: then ask
// waits for it instead of paying for it twice.
func ask(ctx workflow.Context, id, name, task string) (string, error) {
	start := workflows.Start{
		Agent: name, Message: &agent.Incoming{ID: "first", Text: task},
		Key: agent.Key(id), // by which AwaitAgent knows that it is ours
	}
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, Memo: workflows.Memo(start),
		StaticSummary: workflows.StaticSummary(start), StaticDetails: workflows.StaticDetails(start),
		// The agent survives the end of this run, whatever ended it, and is not run again.
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		// No RetryPolicy: an agent retries what is worth it by itself, and starting it again
		// would do its work again.
	})
	var result workflows.Result
	err := workflow.ExecuteChildWorkflow(child, workflows.Agent, start).Get(ctx, &result)
	if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return result.Answer, err
	}
	// One try looks whether the agent has ended; while it runs, the look is repeated.
	await := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var end protocol.AgentEnd
	err = workflow.ExecuteActivity(await, protocol.AwaitAgent, protocol.AwaitAgentInput{ID: id, Key: start.Key}).Get(ctx, &end)
	if err == nil && end.Failure != "" {
		err = fmt.Errorf("agent %s: %s", id, end.Failure)
	}
	return end.Answer, err
}
