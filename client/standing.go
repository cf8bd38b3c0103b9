package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Unknown is the status of a sub-agent in a [Snapshot] if Temporal has deleted the sub-agent's history and the parent does not
// know how the sub-agent ended. A program that lists agents can also use Unknown for an agent if the program cannot read the
// agent's state.
const Unknown Status = "unknown"

// Wait says what an agent waits for, and so who has to act.
type Wait string

// The values of Wait. The zero Wait means that the turn is running and waits for none of these, or that the agent has ended.
const (
	WaitsForMessage   Wait = "message"    // the user's next message
	WaitsForApproval  Wait = "approval"   // a person's decision on a tool call
	WaitsForPerson    Wait = "person"     // the turn is held: a person has to correct what made it fail, and send a message
	WaitsForSubAgents Wait = "sub-agents" // the answers of sub-agents: all open calls wait for sub-agents
)

// Standing is the result of [Client.Standing]: the status of an agent, what the agent waits for, and its usage.
type Standing struct {
	Status Status
	// WaitsFor is empty while the turn is running, unless all open calls wait for sub-agents. It is also empty if the agent has ended.
	WaitsFor Wait
	// Task is the beginning of the first message; empty if the message is not known.
	Task string
	// Stopped names the limit that ended the last turn, as in [Snapshot]; empty if no limit did.
	Stopped string
	// Class is the type of the failure that holds the turn or with which the agent ended, such as an [llm.Class]. It is empty if
	// there is no failure, or if the failure has no type.
	Class string
	// Spent is the tokens and the cost of the agent and of its sub-agents that have ended; nil if unknown.
	Spent *agent.Spending
}

// maxRuns limits how many runs of one agent [Client.Standing] reads. If the listed run has ended since the list was made, the
// agent may continue in a newer run, and Standing then reads the newer run.
const maxRuns = 5

// Standing returns the status of an agent, what the agent waits for, and its usage. The entry e comes from [Client.List].
// Standing reads Temporal's history and needs no worker. If the agent has completed, failed or was cancelled, Standing reads
// only the last event. Otherwise, it reads the whole history of the newest run.
//
// The error is [ErrNotFound] if the agent was deleted after List returned e. It is a [*history.UnreadableError] if the
// history does not fit this version of the workflow or cannot be decoded.
func (c *Client) Standing(ctx context.Context, e Entry) (Standing, error) {
	for range maxRuns {
		switch e.Status {
		case Completed:
			return c.completed(ctx, e)
		case Failed, Cancelled:
			return c.failed(ctx, e)
		}
		run, err := c.read(ctx, agent.RunRef{ID: e.ID, RunID: e.RunID})
		if err != nil {
			return Standing{}, err
		}
		if run.Closed == nil || e.Status.Ended() {
			return standing(e, run), nil
		}
		// The agent has ended since the list was made, or continues in a new run.
		found, err := c.describe(ctx, e.ID)
		if err != nil {
			return Standing{}, err
		}
		e.Status, e.RunID = found.status, found.runID
	}
	return Standing{}, fmt.Errorf("read agent %q: the run ended while it was read, %d times in a row; try again", e.ID, maxRuns)
}

// completed implements [Client.Standing] for an agent that has completed. It reads the result of the workflow.
func (c *Client) completed(ctx context.Context, e Entry) (Standing, error) {
	var result protocol.Result
	if err := c.temporal.GetWorkflow(ctx, e.ID, e.RunID).Get(ctx, &result); err != nil {
		return Standing{}, wrap("read", e.ID, err)
	}
	spent := result.Spent
	if spent == (agent.Spending{}) { // the result of an agent of the first version
		spent = agent.Spending{Usage: result.Usage.Usage, Cost: result.Usage.Cost}.Add(result.Usage.Descendants)
	}
	return Standing{Status: e.Status, Task: e.Task, Stopped: result.Stopped, Spent: &spent}, nil
}

// failed implements [Client.Standing] for an agent that failed or was cancelled. It reads the error of the workflow.
func (c *Client) failed(ctx context.Context, e Entry) (Standing, error) {
	err := c.temporal.GetWorkflow(ctx, e.ID, e.RunID).Get(ctx, nil)
	if _, ended := errors.AsType[*temporal.WorkflowExecutionError](err); !ended {
		return Standing{}, wrap("read", e.ID, err)
	}
	s := Standing{Status: e.Status, Task: e.Task, Spent: protocol.Spent(err)}
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		s.Class = failure.Type()
	}
	return s, nil
}

// standing returns the Standing of the agent in e, whose newest run has already been read.
func standing(e Entry, run *history.Run) Standing {
	s := Standing{Status: e.Status, Task: cmp.Or(e.Task, task(run))}
	if run.State == nil {
		return s
	}
	spent := run.State.Spent()
	s.Spent, s.Stopped = &spent, run.State.Turn.Stopped
	if !e.Status.Ended() {
		s.Status, s.WaitsFor = Status(run.State.Status()), waitsFor(run.State)
	}
	if s.Status == Held {
		s.Class = run.State.Held.Class
	}
	return s
}

// task returns the beginning of the agent's first message; empty if the run does not have it.
func task(run *history.Run) string {
	switch s := run.State; {
	case run.Start.Message != nil && run.Start.From == nil:
		return workflows.TaskText(run.Start.Message.Text)
	case s != nil && s.Dropped == 0 && len(s.Messages) > 0:
		return workflows.TaskText(s.Messages[0].Content)
	}
	return ""
}

// waitsFor returns what an agent waits for. The result is empty while the turn is running, unless all open calls wait for
// sub-agents. Do not call waitsFor for an agent that has ended.
func waitsFor(s *agent.State) Wait {
	tools, calls := s.Next().(agent.RunTools)
	switch s.Status() {
	case agent.HeldUp:
		return WaitsForPerson
	case agent.Waiting:
		if calls {
			return WaitsForApproval
		}
		return WaitsForMessage
	}
	if !calls {
		return ""
	}
	for _, call := range tools.Calls {
		if call.Child == "" {
			return ""
		}
	}
	return WaitsForSubAgents
}
