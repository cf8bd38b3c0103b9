package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
)

// Tree returns an agent and all sub-agents below it, each parent before its sub-agents. Each agent is in the result once, with
// the data of its newest run. The first entry is the agent with the given ID; it has only the fields `ID`, `Agent`, `Status`
// and `RunID`.
func (c *Client) Tree(ctx context.Context, id string) ([]Entry, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	tree := []Entry{{ID: id, Agent: found.agent, Status: found.status, RunID: found.runID}}
	seen := map[string]bool{id: true}
	for i := 0; i < len(tree); i++ {
		for child, err := range c.List(ctx, ListOptions{Parent: tree[i].ID}) {
			if err != nil {
				return nil, err
			}
			if seen[child.ID] {
				continue // an earlier run; the newest run comes first
			}
			seen[child.ID] = true
			tree = append(tree, child)
		}
	}
	return tree, nil
}

// Cancel asks Temporal to cancel an agent and all sub-agents below it. It returns the IDs of the agents that it has asked to end,
// and does not wait until they have ended. Open calls get no results, and an agent that is resumed goes on with them.
//
// If the agent has ended, Cancel still cancels the running sub-agents below it. If these have all ended, too, the error wraps
// [ErrClosed].
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
	// A running agent also cancels its own sub-agents, including those that are not in Temporal's list yet.
	if !root.status.Ended() {
		if err := ask(id); err != nil {
			return nil, err
		}
	}
	tree, err := c.Tree(ctx, id)
	if err != nil {
		return asked, err
	}
	// Cancel parents before their sub-agents. If a parent got the end of a sub-agent before its own cancellation, it would
	// continue its turn.
	for _, e := range tree[1:] {
		found, err := c.describe(ctx, e.ID) // the list may be out of date
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

// parentEnded reports whether the parent with the given ID has ended. It also returns true if Temporal has deleted the parent.
// The parent may be a workflow of any type, because any workflow can run an agent as its child. `known` remembers the results, so that
// Temporal is asked only once about each parent.
func (c *Client) parentEnded(ctx context.Context, known map[string]bool, id string) (bool, error) {
	if ended, ok := known[id]; ok {
		return ended, nil
	}
	found, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	deleted := errors.As(err, new(*serviceerror.NotFound))
	if err != nil && !deleted {
		return false, served(fmt.Sprintf("describe agent %q", id), err)
	}
	known[id] = deleted || closeStatus(found.GetWorkflowExecutionInfo().GetStatus()).Ended() // a paused workflow has not ended
	return known[id], nil
}
