package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// ReadProgress returns how long a sub-agent has been idle. The parent uses this time to decide whether it stops waiting for the
// sub-agent. The time is counted from the newest event in the history of the sub-agent and in the histories of all running
// sub-agents below it. If the sub-agent has ended, the time is zero, because the parent will soon receive the answer or
// failure. The time is zero, too, if a person has paused the sub-agent.
func (a *Activities) ReadProgress(ctx context.Context, in protocol.ReadProgressInput) (protocol.AgentProgress, error) {
	last, err := a.lastEvent(ctx, in.ID)
	if err != nil {
		return protocol.AgentProgress{}, fmt.Errorf("read the progress of agent %s: %w", in.ID, err)
	}
	return protocol.AgentProgress{IdleMS: max(0, time.Since(last).Milliseconds())}, nil
}

// lastEvent returns the time of the newest event in the histories of a running agent and of all running sub-agents below it. It
// returns the current time if the agent is not running or does not exist.
func (a *Activities) lastEvent(ctx context.Context, id string) (time.Time, error) {
	found, err := a.temporal.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return time.Now(), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return time.Now(), nil
	}
	newest, err := a.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx,
		&workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: activity.GetInfo(ctx).Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: info.GetExecution().GetRunId()},
			MaximumPageSize: 1,
		})
	if err != nil {
		return time.Time{}, err
	}
	last := info.GetStartTime().AsTime()
	for _, event := range newest.GetHistory().GetEvents() {
		last = event.GetEventTime().AsTime()
	}
	// The query has no run ID, because the parent of a sub-agent may be an earlier run of the agent.
	below := &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("ParentWorkflowId = %q AND ExecutionStatus = 'Running'", id),
	}
	page, err := a.temporal.ListWorkflow(ctx, below)
	if err != nil {
		return time.Time{}, err
	}
	for _, child := range page.GetExecutions() {
		at, err := a.lastEvent(ctx, child.GetExecution().GetWorkflowId())
		if err != nil {
			return time.Time{}, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}
