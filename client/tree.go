package client

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// Tree returns an agent and the sub-agents below it, those above first. Each is there once,
// with the status of its newest run.
func (c *Client) Tree(ctx context.Context, id string) ([]Entry, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	tree := []Entry{{ID: id, Agent: found.agent, Status: found.status}}
	seen := map[string]bool{id: true}
	for i := 0; i < len(tree); i++ {
		for child, err := range c.List(ctx, ListOptions{Parent: tree[i].ID}) {
			if err != nil {
				return nil, err
			}
			if seen[child.ID] {
				continue // an earlier run: the newest comes first
			}
			seen[child.ID] = true
			tree = append(tree, child)
		}
	}
	return tree, nil
}

// Cancel asks an agent and the sub-agents below it to end now, and returns the IDs of those that it
// asked. The calls that are open get a result that says so. An agent that has ended does not hide
// those below it that run; where none of them runs, the error is [ErrClosed].
//
// An agent that runs passes the cancel on to its sub-agents itself, so that one that is not in the list
// of Temporal yet is reached, too.
func (c *Client) Cancel(ctx context.Context, id string) ([]string, error) {
	root, err := c.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	var asked []string
	ask := func(id string) error {
		err := c.temporal.CancelWorkflow(ctx, id, "")
		if err == nil {
			asked = append(asked, id)
		}
		return wrap("cancel", id, err)
	}
	if !root.status.Ended() {
		if err := ask(id); err != nil {
			return nil, err
		}
	}
	tree, err := c.Tree(ctx, id)
	if err != nil {
		return asked, err
	}
	// Those above first: an agent that hears of the end of its sub-agent before its own
	// would go on from there.
	for _, e := range tree[1:] {
		found, err := c.describe(ctx, e.ID) // the list may lag behind
		if err == nil && !found.status.Ended() {
			err = ask(e.ID)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return asked, err
		}
	}
	if len(asked) == 0 {
		return nil, &ClosedError{Operation: "cancel", ID: id, Status: root.status}
	}
	return asked, nil
}

// parents tells of the parents of a list, and asks Temporal once for each.
type parents struct {
	client *Client
	ended  map[string]bool
}

// haveEnded reports whether the newest run of a parent has ended, or nothing is known of it any more. The
// parent need not be an agent: any workflow may have started one.
func (p parents) haveEnded(ctx context.Context, id string) (bool, error) {
	if ended, known := p.ended[id]; known {
		return ended, nil
	}
	found, err := p.client.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
		return false, served("describe", id, err)
	}
	p.ended[id] = found.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	return p.ended[id], nil
}
