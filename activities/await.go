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

// maxAwaitPause bounds the time between two looks at an agent that still runs.
const maxAwaitPause = 30 * time.Second

// resumeGrace is the time between the end of a sub-agent that was terminated, was cancelled or timed out, and the report of this end to
// its parent. If the sub-agent is resumed in this time, the parent hears nothing of the end.
const resumeGrace = 2 * time.Second

// seen reports whether an earlier attempt of the activity saw that run ended.
func seen(ctx context.Context, run string) bool {
	var before string
	return activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &before) == nil && before == run
}

// AwaitAgent looks whether an agent has ended. It holds no slot while the agent
// runs: it fails with [protocol.StillRunning] and a time to be tried again, because waits
// that hold slots lock each other out once a tree is deeper than there are slots.
// It names no run, and so finds an agent that was reset or continued as new.
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
			return protocol.AgentEnd{}, fmt.Errorf("await agent %s: its key: %w", in.ID, err)
		}
	}
	if key != in.Key {
		return protocol.AgentEnd{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the workflow %s is not the sub-agent that was asked for", in.ID), protocol.ForeignAgent, nil)
	}
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		pause := min(time.Duration(activity.GetInfo(ctx).Attempt)*500*time.Millisecond, maxAwaitPause)
		return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions(in.ID+" still runs", protocol.StillRunning,
			temporal.ApplicationErrorOptions{NextRetryDelay: pause, Category: temporal.ApplicationErrorCategoryBenign})
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var end protocol.AgentEnd
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, &end)
		return end, err
	default:
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, nil)
		if run := info.GetExecution().GetRunId(); protocol.EndedFromOutside(err) && time.Since(info.GetCloseTime().AsTime()) < maxAwaitPause && !seen(ctx, run) {
			activity.RecordHeartbeat(ctx, run)
			return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions(in.ID+" has just been ended; it may be resumed", protocol.StillRunning,
				temporal.ApplicationErrorOptions{NextRetryDelay: resumeGrace, Category: temporal.ApplicationErrorCategoryBenign})
		}
		return protocol.AgentEnd{Failure: protocol.EndText(err), Spent: protocol.Spent(err)}, nil
	}
}
