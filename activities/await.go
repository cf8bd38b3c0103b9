package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// maxAwaitPause is the longest delay between two attempts of AwaitAgent. It also has a second use: if more than
// maxAwaitPause has passed since a sub-agent ended, AwaitAgent does not wait for a resume of the sub-agent (see resumeGrace).
const maxAwaitPause = 30 * time.Second

// resumeGrace is the time for which AwaitAgent waits for a resume after a sub-agent was terminated, was cancelled or timed out.
// If the sub-agent is resumed within this time, the parent keeps waiting for it. Otherwise the next attempt of AwaitAgent
// returns the sub-agent's failure. AwaitAgent waits for a resume only once for each run of the sub-agent.
const resumeGrace = 2 * time.Second

// seen reports whether an earlier attempt of this activity has stored the given run ID in its heartbeat details. An attempt
// stores the ID of a run if it finds that the run has ended and may be resumed.
func seen(ctx context.Context, run string) bool {
	var before string
	return activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &before) == nil && before == run
}

// AwaitAgent returns the answer or the failure with which a sub-agent ended. If the sub-agent is still running, or has just
// ended and may be resumed (see resumeGrace), AwaitAgent returns a retryable error of type [protocol.StillRunning] with the
// delay until the next attempt. It does not wait inside one attempt, because a waiting activity occupies a slot of the worker:
// a tree of agents that is deeper than the number of slots would deadlock. AwaitAgent looks up the workflow by its ID without
// a run ID, so it also finds a sub-agent that was reset, resumed or continued as new.
//
// The error has the type [protocol.ForeignAgent] if the key in the workflow's memo is not the key in the input. The workflow
// is then not the sub-agent that the parent started. If the workflow does not exist any more, AwaitAgent returns no error, but
// an AgentEnd that says so in the field Failure.
func (a *Activities) AwaitAgent(ctx context.Context, in protocol.AwaitAgentInput) (protocol.AgentEnd, error) {
	found, err := a.temporal.DescribeWorkflowExecution(ctx, in.ID, "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return protocol.AgentEnd{Failure: "it is gone: Temporal keeps closed workflows for the namespace's retention only"}, nil
	}
	if err != nil {
		return protocol.AgentEnd{}, fmt.Errorf("await agent %s: %w", in.ID, err)
	}
	info := found.GetWorkflowExecutionInfo()
	var key agent.Key
	if held := info.GetMemo().GetFields()[protocol.MemoKey]; held != nil {
		if err := a.converter.FromPayload(held, &key); err != nil {
			return protocol.AgentEnd{}, fmt.Errorf("await agent %s: decode the sub-agent's key in the workflow's memo (all workers need the same data converter and codecs): %w", in.ID, err)
		}
	}
	if key != in.Key {
		return protocol.AgentEnd{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the workflow %s is not the sub-agent that was asked for", in.ID), protocol.ForeignAgent, nil)
	}
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		pause := min(time.Duration(activity.GetInfo(ctx).Attempt)*500*time.Millisecond, maxAwaitPause)
		return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions(in.ID+" is still running", protocol.StillRunning,
			temporal.ApplicationErrorOptions{NextRetryDelay: pause, Category: temporal.ApplicationErrorCategoryBenign})
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var end protocol.AgentEnd
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, &end)
		return end, err
	default:
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, nil)
		if run := info.GetExecution().GetRunId(); protocol.EndedFromOutside(err) && time.Since(info.GetCloseTime().AsTime()) < maxAwaitPause && !seen(ctx, run) {
			activity.RecordHeartbeat(ctx, run)
			return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions(in.ID+" ended a moment ago and may be resumed", protocol.StillRunning,
				temporal.ApplicationErrorOptions{NextRetryDelay: resumeGrace, Category: temporal.ApplicationErrorCategoryBenign})
		}
		return protocol.AgentEnd{Failure: protocol.EndText(err), Spent: protocol.Spent(err)}, nil
	}
}
