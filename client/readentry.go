package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// maxRuns is the largest number of runs of one agent that [Client.DescribeEntry] reads, because the agent has continued in a new run
// meanwhile.
const maxRuns = 5

// DescribeEntry returns a snapshot of an agent that [Client.List] has yielded. The snapshot has no messages, calls, queue or
// sub-agents. DescribeEntry reads the whole history of the newest run, and needs no worker.
//
// If the agent has completed, failed or was cancelled, DescribeEntry reads only the last event of the history, and leaves `Count`,
// `ChildCount`, `Digest` and the fields about models and context empty. If the agent failed or was cancelled, it also leaves `Usage`,
// `Answer`, `FinishReason` and `Stopped` empty. [Client.ReadEntry] has all of them.
//
// The error wraps [ErrNotFound] if the agent was deleted after it was listed. The error wraps a [*history.UnreadableError] if
// the history does not fit this version of the workflow or cannot be decoded.
func (c *Client) DescribeEntry(ctx context.Context, e Entry) (Snapshot, error) {
	return c.readEntry(ctx, e, false)
}

// ReadEntry is [Client.DescribeEntry], but it reads the whole history of an agent that has ended, too. This takes longer, and leaves no
// field empty that the agent has.
func (c *Client) ReadEntry(ctx context.Context, e Entry) (Snapshot, error) {
	return c.readEntry(ctx, e, true)
}

func (c *Client) readEntry(ctx context.Context, e Entry, whole bool) (Snapshot, error) {
	for range maxRuns {
		switch {
		case whole:
		case e.Status == Completed:
			return c.completed(ctx, e)
		case e.Status == Failed, e.Status == Cancelled:
			return c.failed(ctx, e)
		}
		run, err := c.read(ctx, agent.RunRef{ID: e.ID, RunID: e.RunID})
		if err != nil {
			return Snapshot{}, err
		}
		if run.Closed == nil || e.Status.Ended() {
			return snapshot(e.ID, e.Status, e.Task, run), nil
		}
		// The agent has ended since the list was made, or continues in a new run.
		found, err := c.describe(ctx, e.ID)
		if err != nil {
			return Snapshot{}, err
		}
		e.Status, e.RunID = found.status, found.runID
	}
	return Snapshot{}, fmt.Errorf("read agent %q: the run ended while it was read, %d times in a row; try again", e.ID, maxRuns)
}

// completed returns the snapshot of [Client.DescribeEntry] for an agent that has completed. It reads the result of the workflow.
func (c *Client) completed(ctx context.Context, e Entry) (Snapshot, error) {
	var result protocol.Result
	if err := c.temporal.GetWorkflow(ctx, e.ID, e.RunID).Get(ctx, &result); err != nil {
		return Snapshot{}, wrap("read", e.ID, err)
	}
	spent := result.Spent
	if spent == (agent.Spending{}) { // the result of an agent of the first version
		spent = result.Usage.Spent()
	}
	return Snapshot{
		ID: e.ID, Agent: e.Agent, Status: e.Status, Task: e.Task, Metadata: e.Metadata, Answer: result.Answer, FinishReason: result.FinishReason, Stopped: result.Stopped,
		Usage: result.Usage, Spent: &spent,
	}, nil
}

// failed returns the snapshot of [Client.DescribeEntry] for an agent that failed or was cancelled. It reads the error of the
// workflow.
func (c *Client) failed(ctx context.Context, e Entry) (Snapshot, error) {
	err := c.temporal.GetWorkflow(ctx, e.ID, e.RunID).Get(ctx, nil)
	if _, ended := errors.AsType[*temporal.WorkflowExecutionError](err); !ended {
		return Snapshot{}, wrap("read", e.ID, err)
	}
	s := Snapshot{ID: e.ID, Agent: e.Agent, Status: e.Status, Task: e.Task, Metadata: e.Metadata, Failure: failureText(protocol.EndText(err)), Spent: protocol.Spent(err)}
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		s.Class = failure.Type()
	}
	return s, nil
}
