package workflows

import (
	"cmp"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// AgentFailed is the error type with which [Run] reports that an agent which it found, and did not start, ended without an answer.
const AgentFailed = "AgentFailed"

// Run runs an agent in task mode as a child of the calling workflow, and waits until it has ended. TaskQueue is that of the agent's
// workers; empty means that of the calling workflow.
//
// The agent outlives the run of the caller. If an agent has the ID already, because the caller was reset or started again, Run waits for
// that one and pays for nothing twice. The agent has no search attributes. A cancel of ctx cancels an agent that Run has started. An agent that is terminated and resumed
// within 2 seconds counts as one that goes on.
func Run(ctx workflow.Context, id, taskQueue string, start Start) (Result, error) {
	start.Key = cmp.Or(start.Key, agent.Key(id))
	start.KeyVersion = cmp.Or(start.KeyVersion, agent.KeyVersion)
	options := childOptions(id, start)
	options.TaskQueue = taskQueue
	var result Result
	err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), Agent, start).Get(ctx, &result)
	found := temporal.IsWorkflowExecutionAlreadyStartedError(err)
	switch {
	case found && ctx.Err() != nil:
		return Result{}, ctx.Err()
	case ctx.Err() != nil || !found && !protocol.EndedFromOutside(err):
		return result, err
	}
	look := workflow.ActivityOptions{
		TaskQueue: taskQueue, Summary: oneLine("reattached · " + id), StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	}
	var end protocol.AgentEnd
	lookErr := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, look), protocol.AwaitAgent,
		protocol.AwaitAgentInput{ID: id, Key: start.Key}).Get(ctx, &end)
	switch {
	case lookErr != nil:
		return Result{}, lookErr
	case end.Failure != "" && !found:
		return Result{}, err
	case end.Failure != "":
		return Result{}, temporal.NewApplicationError("agent "+id+": "+end.Failure, AgentFailed)
	}
	result = Result{Answer: end.Answer, Stopped: end.Stopped}
	if end.Spent != nil {
		result.Spent = *end.Spent
	}
	return result, nil
}

// childOptions returns the options with which a workflow starts an agent: the agent outlives the workflow, and is not started again.
// There is no retry policy, because an agent retries by itself what is worth it.
func childOptions(id string, start Start) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                  Memo(start),
		StaticSummary:         StaticSummary(start),
		StaticDetails:         StaticDetails(start),
	}
}
