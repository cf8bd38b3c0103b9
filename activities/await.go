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
	"github.com/reagent-dev/reagent/internal/protocol"
)

// maxAwaitPause is the longest delay between two attempts of [Activities.AwaitAgent], which waits for the end of a
// sub-agent. The delay [resumeGrace] does not apply if the sub-agent ended longer ago than maxAwaitPause.
const maxAwaitPause = 30 * time.Second

// resumeGrace is the delay before a parent gets the failure of a sub-agent that was terminated, was cancelled or timed out. If
// someone resumes the sub-agent within this time, the parent keeps waiting for the answer. Each run of the sub-agent causes
// only one such delay.
const resumeGrace = 2 * time.Second

// seen reports whether an earlier attempt of [Activities.AwaitAgent] has already delayed the failure of the given run of the
// sub-agent: see [resumeGrace]. Such an attempt has stored the run ID in its heartbeat details.
func seen(ctx context.Context, run string) bool {
	var before string
	return activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &before) == nil && before == run
}

// AwaitAgent returns the answer or the failure with which a sub-agent ended. It finds the sub-agent even after a reset, a
// resume or a continue-as-new.
//
// AwaitAgent never blocks. If the sub-agent is still running, AwaitAgent returns a retryable error of type
// [protocol.StillRunning]. The error contains a delay, after which Temporal calls AwaitAgent again. AwaitAgent returns the
// same type of error if the sub-agent ended a moment ago and may be resumed: see [resumeGrace].
//
// If the sub-agent's workflow does not exist any more, the error is nil, and the field `Failure` of the result says so. If
// the workflow is not the sub-agent that the parent started, the error has the type [protocol.ForeignAgent].
func (a *Activities) AwaitAgent(ctx context.Context, in protocol.AwaitAgentInput) (protocol.AgentEnd, error) {
	found, err := a.temporal.DescribeWorkflowExecution(ctx, in.ID, "") // without a run ID: the newest run
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return protocol.AgentEnd{Failure: "it is gone: Temporal keeps closed workflows for the namespace's retention only"}, nil
	}
	if err != nil {
		err = fmt.Errorf("await agent %s: describe the workflow: %w", in.ID, err)
		if final, ok := errors.AsType[*temporal.ApplicationError](err); ok && final.NonRetryable() {
			// The SDK does not look for the error inside of another one, and would try again.
			err = temporal.NewNonRetryableApplicationError(err.Error(), final.Type(), nil)
		}
		return protocol.AgentEnd{}, err
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
		// AwaitAgent does not wait here, because a waiting activity occupies a slot of the worker: a tree of agents that is deeper
		// than the number of slots would deadlock.
		pause := min(time.Duration(activity.GetInfo(ctx).Attempt)*500*time.Millisecond, maxAwaitPause)
		return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions("agent "+in.ID+" is still running; the next attempt looks again", protocol.StillRunning,
			temporal.ApplicationErrorOptions{NextRetryDelay: pause, Category: temporal.ApplicationErrorCategoryBenign})
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var end protocol.AgentEnd
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, &end)
		return end, err
	default:
		err := a.temporal.GetWorkflow(ctx, in.ID, "").Get(ctx, nil)
		if run := info.GetExecution().GetRunId(); protocol.EndedFromOutside(err) && time.Since(info.GetCloseTime().AsTime()) < maxAwaitPause && !seen(ctx, run) {
			activity.RecordHeartbeat(ctx, run)
			return protocol.AgentEnd{}, temporal.NewApplicationErrorWithOptions("agent "+in.ID+" ended a moment ago and may be resumed; the next attempt looks again", protocol.StillRunning,
				temporal.ApplicationErrorOptions{NextRetryDelay: resumeGrace, Category: temporal.ApplicationErrorCategoryBenign})
		}
		return protocol.AgentEnd{Failure: protocol.EndText(err), Spent: protocol.Spent(err)}, nil
	}
}
