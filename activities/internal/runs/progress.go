package runs

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
)

// LastEvent returns the time of the newest event in the histories of a running agent and of all running sub-agents below it. It
// returns the current time if the agent is not running or does not exist.
func (r *Reader) LastEvent(ctx context.Context, id string) (time.Time, error) {
	found, err := r.temporal.DescribeWorkflowExecution(ctx, id, "")
	info := found.GetWorkflowExecutionInfo()
	switch {
	case errors.As(err, new(*serviceerror.NotFound)), err == nil && info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return time.Now(), nil
	case err != nil:
		return time.Time{}, err
	}
	newest, err := r.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx,
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
	for {
		page, err := r.temporal.ListWorkflow(ctx, below)
		if err != nil {
			return time.Time{}, err
		}
		for _, child := range page.GetExecutions() {
			at, err := r.LastEvent(ctx, child.GetExecution().GetWorkflowId())
			if err != nil {
				return time.Time{}, err
			}
			if at.After(last) {
				last = at
			}
		}
		if below.NextPageToken = page.GetNextPageToken(); len(below.NextPageToken) == 0 {
			return last, nil
		}
	}
}
