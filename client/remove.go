package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// ErrRunning says that the agent, or a sub-agent below it, has not ended.
var ErrRunning = errors.New("the agent is still running")

// StillRunning returns an [ErrRunning] that names the agent.
func StillRunning(id string) error {
	return &agentError{fmt.Sprintf("agent %q is still running", id), []error{ErrRunning}}
}

// Remove deletes an agent that has ended, with the sub-agents below it and all their runs. It fails with
// [ErrRunning] and deletes nothing where one of them has not ended.
// Temporal deletes in the background: of an agent that ended just now something may be seen for a minute.
// The namespace has to be that of the Temporal client, which does not tell it.
func (c *Client) Remove(ctx context.Context, namespace, id string) error {
	tree, err := c.Tree(ctx, id)
	if err != nil {
		return err
	}
	// The list may lag behind; what is deleted while it runs would be terminated.
	for _, e := range tree {
		found, err := c.describe(ctx, e.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil && !found.status.Ended() {
			return StillRunning(e.ID)
		}
	}
	// The root last: as long as it is there, the rest can be found by asking again.
	for _, e := range slices.Backward(tree) {
		if err := c.removeRuns(ctx, namespace, e.ID); err != nil {
			return fmt.Errorf("remove agent %q: %w", e.ID, err)
		}
	}
	return nil
}

func (c *Client) removeRuns(ctx context.Context, namespace, id string) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowId = " + quote(id)}
	for {
		page, err := c.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}
		for _, info := range page.GetExecutions() {
			if err := c.removeRun(ctx, namespace, info.GetExecution()); err != nil {
				return err
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	// One that ended just now may not be in the list yet.
	return c.removeRun(ctx, namespace, &commonpb.WorkflowExecution{WorkflowId: id})
}

func (c *Client) removeRun(ctx context.Context, namespace string, run *commonpb.WorkflowExecution) error {
	_, err := c.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: run,
	})
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil
	}
	return err
}
