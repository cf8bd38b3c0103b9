package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Forget ends agents and deletes all their runs. The agents are a tree: each parent comes before its sub-agents. Forget cancels those that
// have not ended, waits for their end for the time `patience`, and then terminates the rest. It never touches another agent that has the
// same ID. Temporal deletes in the background, which may take a minute: see [Client.Gone].
//
// After an error, some of the agents may be ended or deleted. The root is deleted last, so that another call finds the rest.
//
// `namespace` must be the namespace of the Temporal client. The caller has to pass it, because the Temporal client does not tell it.
func (c *Client) Forget(ctx context.Context, namespace string, tree []Life, patience time.Duration) error {
	// Cancel parents before their sub-agents: see [Client.Cancel].
	for i := range tree {
		if err := c.endRun(ctx, &tree[i], func(run string) error { return c.temporal.CancelWorkflow(ctx, tree[i].ID, run) }); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(patience)
	for i := range tree {
		if err := c.awaitEnd(ctx, &tree[i], deadline); err != nil {
			return err
		}
	}
	for _, l := range slices.Backward(tree) {
		for _, run := range l.Runs {
			if err := c.removeRun(ctx, namespace, &commonpb.WorkflowExecution{WorkflowId: l.ID, RunId: run}); err != nil {
				return served(fmt.Sprintf("delete agent %q", l.ID), err)
			}
		}
	}
	return nil
}

// Gone reports whether Temporal has no run of an agent any more.
func (c *Client) Gone(ctx context.Context, l Life) (bool, error) {
	for _, run := range l.Runs {
		_, err := c.temporal.DescribeWorkflowExecution(ctx, l.ID, run)
		if err == nil {
			return false, nil
		}
		if !errors.As(err, new(*serviceerror.NotFound)) {
			return false, served(fmt.Sprintf("describe agent %q", l.ID), err)
		}
	}
	return true, nil
}

// openRun returns the ID of the run in which the agent is working or waiting; empty if the agent has ended. If this run is not in the list
// of runs, openRun adds it.
func (c *Client) openRun(ctx context.Context, l *Life) (string, error) {
	found, err := c.temporal.DescribeWorkflowExecution(ctx, l.ID, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return "", nil
	}
	if err != nil {
		return "", served(fmt.Sprintf("describe agent %q", l.ID), err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != protocol.AgentWorkflow || !c.has(*l, info) {
		return "", nil
	}
	run := info.GetExecution().GetRunId()
	if !slices.Contains(l.Runs, run) {
		l.Runs = append(l.Runs, run)
	}
	if closeStatus(info.GetStatus()).Ended() {
		return "", nil
	}
	return run, nil
}

// endRun calls `end` with the run in which the agent is working or waiting, if there is one.
func (c *Client) endRun(ctx context.Context, l *Life, end func(run string) error) error {
	run, err := c.openRun(ctx, l)
	if err != nil || run == "" {
		return err
	}
	if err := end(run); err != nil && !errors.As(err, new(*serviceerror.NotFound)) { // not found: it has ended meanwhile
		return served(fmt.Sprintf("end agent %q", l.ID), err)
	}
	return nil
}

func (c *Client) awaitEnd(ctx context.Context, l *Life, deadline time.Time) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		run, err := c.openRun(ctx, l)
		if err != nil || run == "" {
			return err
		}
		if time.Now().After(deadline) {
			err := c.endRun(ctx, l, func(run string) error { return c.temporal.TerminateWorkflow(ctx, l.ID, run, "starter forget") })
			if err != nil {
				return err
			}
		}
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}
