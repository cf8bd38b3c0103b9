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

// ErrRunning says that [Client.Remove] has deleted nothing, because the agent or one of the sub-agents below it is still
// running.
var ErrRunning = errors.New("the agent is still running")

// StillRunning returns the error of [Client.Remove] for an agent that is still running, for programs that check this before they
// call Remove. The error wraps [ErrRunning].
func StillRunning(id string) error {
	return &agentError{fmt.Sprintf("agent %q is still running", id), []error{ErrRunning}}
}

// Remove deletes an agent that has ended, all sub-agents below it, and all their runs. If the agent or one of the sub-agents
// is still running, Remove deletes nothing and the error wraps [ErrRunning]. Temporal deletes in the background, which may
// take a minute if an agent has just ended.
//
// `namespace` must be the namespace of the Temporal client. The caller has to pass it, because the Temporal client does not
// tell it.
func (c *Client) Remove(ctx context.Context, namespace, id string) error {
	tree, err := c.Tree(ctx, id)
	if err != nil {
		return err
	}
	// Temporal's list may be out of date, and Temporal terminates a running workflow that is deleted. So describe each agent.
	for _, e := range tree {
		found, err := c.describe(ctx, e.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil && !found.status.Ended() {
			return StillRunning(e.ID)
		}
	}
	// Delete the root last. As long as it exists, another call of Remove finds the rest.
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
	// A run that has just ended may not be in the list yet.
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
