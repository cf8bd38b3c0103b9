package workflows

import (
	"cmp"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// AgentFailed is the type of the application error that [Run] returns if an existing agent has ended without an answer. If
// Run itself has started the agent, Run returns the error of the agent's workflow instead.
const AgentFailed = "AgentFailed"

// Run runs the agent with the given ID as a child of the calling workflow, and waits until the agent has ended. `taskQueue` is that
// of the agent's workers; empty means the task queue of the calling workflow. `start` is the input of the agent. Do not set chat mode
// in it, because an agent in chat mode ends only when it is closed. Run gives the agent no search attributes.
//
// The agent keeps running if the calling workflow ends. If the calling workflow was reset or started again, an agent with
// this ID may exist already. Run then waits for that agent, and no work is done or paid for twice. Run recognises the agent
// by `start.Key`, which defaults to the ID. If the ID belongs to a workflow with another key, Run returns an error of type
// [protocol.ForeignAgent]. A cancel of `ctx` cancels the agent only if this call of Run has started it.
//
// If the agent is terminated, is cancelled from outside or times out, Run waits 2 seconds. If the agent is resumed in this
// time, Run waits for the end of the resumed agent.
func Run(ctx workflow.Context, id, taskQueue string, start agent.Start) (protocol.Result, error) {
	start.Key = cmp.Or(start.Key, agent.Key(id))
	options := childOptions(id, start)
	options.TaskQueue = taskQueue
	var result protocol.Result
	err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), protocol.AgentWorkflow, start).Get(ctx, &result)
	found := temporal.IsWorkflowExecutionAlreadyStartedError(err)
	switch {
	case found && ctx.Err() != nil:
		return protocol.Result{}, ctx.Err()
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
		return protocol.Result{}, lookErr
	case end.Failure != "" && !found:
		return protocol.Result{}, err
	case end.Failure != "":
		return protocol.Result{}, temporal.NewApplicationError("agent "+id+": "+end.Failure, AgentFailed)
	}
	result = protocol.Result{Answer: end.Answer, FinishReason: end.FinishReason, Stopped: end.Stopped, Refusal: end.Refusal}
	if end.Spent != nil {
		result.Spent = *end.Spent
	}
	return result, nil
}

// childOptions returns the options with which a workflow starts the agent with the given ID. With these options, the agent
// keeps running if the workflow ends. Temporal refuses to start an agent with an ID that was used before. There is no retry
// policy, because the agent's activities have their own retries.
func childOptions(id string, start agent.Start) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                  Memo(start),
		StaticSummary:         StaticSummary(start),
		StaticDetails:         StaticDetails(start),
	}
}
