package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/workflows"
)

// ErrNotResumable is returned for an agent that has completed: there is nothing to resume.
var ErrNotResumable = errors.New("nothing to resume")

// ResumeOptions say how an agent goes on.
type ResumeOptions struct {
	// Message is given to the agent before it goes on; empty gives it none.
	Message string
	// Reload reads the definition anew.
	Reload bool
}

// Resume lets an agent go on that has failed, was terminated or cancelled, or ran
// out of time, from its last state, under the same ID and with the same keys: what
// it has done is not done again. Of two programs that resume one agent one does; the other one finds the agent running or
// completed, which [Started] says, and its message is not delivered.
func (c *Client) Resume(ctx context.Context, id string, o ResumeOptions) (Started, error) {
	found, err := c.describe(ctx, id)
	switch {
	case err != nil:
		return Started{}, err
	case !found.status.Ended():
		return Started{ID: id, Found: true, Status: found.status}, nil
	case found.status == Completed:
		return Started{}, fmt.Errorf("resume %s: %w: it has completed; to go on from it, fork it", id, ErrNotResumable)
	}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	if err != nil {
		return Started{}, err
	}
	if run.State == nil {
		return Started{}, fmt.Errorf("resume %s: %w: it never began: %w", id, ErrNotResumable, run.End)
	}
	in := run.Start
	in.State, in.Message = nil, nil
	in.Mode, in.BaseRunID = run.State.Mode, found.runID
	in.From = &agent.RunRef{ID: id, RunID: found.runID, Resume: true, Reload: o.Reload}
	if o.Message != "" {
		if in.Message, err = newMessage(agent.InboxMessage{Text: o.Message, Steer: true}); err != nil {
			return Started{}, fmt.Errorf("resume agent %q: %w", id, err)
		}
	}
	// An agent that somebody else resumed, and that has completed since, is not resumed.
	started, err := c.start(ctx, id, in, cmp.Or(found.task, task(run)), enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	if err == nil && started.Found && !started.Status.Ended() {
		c.reportLostResume(ctx, id)
	}
	return started, err
}

// reportLostResume tells an agent that it was resumed by somebody else meanwhile. It is for the count
// alone, so it is not waited for long.
func (c *Client) reportLostResume(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_ = c.update(ctx, id, nil, workflows.ResumeLostUpdate, uuid.NewString())
}

// ForkOptions say how a fork differs.
type ForkOptions struct {
	// At is the number of messages that the fork keeps. Zero keeps all.
	At int
	// ID is the new agent's. Empty means a new one.
	ID string
	// Message is the fork's next message. Empty lets it wait, in chat mode.
	Message string
	// Mode is the fork's. Defaults to that of the other, or to chat where there is no message.
	Mode agent.Mode
}

// Fork starts a new agent with the first messages of another, running or ended. Nothing is
// run again; the fork has its own keys and its own sub-agents. A cut between a call and its
// result is an [*agent.ForkPointError].
func (c *Client) Fork(ctx context.Context, id string, o ForkOptions) (Started, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return Started{}, err
	}
	from := agent.RunRef{ID: id, RunID: found.runID}
	run, err := c.read(ctx, from)
	if err != nil {
		return Started{}, err
	}
	if run.State == nil {
		return Started{}, fmt.Errorf("fork agent %q: the agent has no messages yet", id)
	}
	if o.At == 0 {
		o.At = run.State.Count()
	}
	mode := run.State.Mode
	// What was summarised has left the newest run's state, and is in that of an earlier one.
	for o.At > 0 && o.At < run.State.Dropped {
		from = *run.Previous
		if run, err = c.previous(ctx, run); err != nil {
			return Started{}, fmt.Errorf("fork agent %q: %w", id, err)
		}
	}
	if err := run.State.CheckFork(o.At); err != nil {
		return Started{}, fmt.Errorf("fork agent %q: %w", id, err)
	}
	if o.ID == "" {
		o.ID = run.Start.Agent + "-" + uuid.NewString()[:8]
	}
	if err := CheckID(o.ID); err != nil {
		return Started{}, err
	}
	if o.Mode == "" {
		if o.Mode = mode; o.Message == "" {
			o.Mode = agent.Chat
		}
	}
	in := workflows.Start{
		Agent: run.Start.Agent, Mode: o.Mode, KeyVersion: agent.KeyVersion, Incarnation: uuid.NewString(),
		From: &agent.RunRef{ID: from.ID, RunID: from.RunID, Events: run.Events, Fork: true, At: o.At},
	}
	if o.Message != "" {
		// A fork in the middle of a turn reads the message before it goes on.
		if in.Message, err = newMessage(agent.InboxMessage{Text: o.Message, Steer: true}); err != nil {
			return Started{}, fmt.Errorf("fork agent %q: %w", id, err)
		}
	}
	return c.start(ctx, o.ID, in, cmp.Or(workflows.TaskText(o.Message), found.task, task(run)), enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// start starts a workflow, or finds the one that has its ID. The task is the one that lists show for an agent that goes on from
// another run; empty means the message's.
func (c *Client) start(ctx context.Context, id string, in workflows.Start, task string, reuse enumspb.WorkflowIdReusePolicy) (Started, error) {
	memo := workflows.Memo(in)
	if task != "" {
		memo[workflows.MemoTask] = task
	}
	err := c.execute(ctx, in, client.StartWorkflowOptions{
		ID: id, TaskQueue: c.taskQueue,
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     memo,
		StaticSummary:                            workflows.StaticSummary(in),
		StaticDetails:                            workflows.StaticDetails(in),
	})
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		found, err := c.describe(ctx, id)
		return Started{ID: id, Found: true, Status: found.status}, err
	}
	if err != nil {
		return Started{}, served("start", id, err)
	}
	started := Started{ID: id, Status: Running}
	if in.Message != nil {
		started.MessageID = in.Message.ID
	}
	return started, nil
}

// execute starts a workflow, with search attributes if the namespace knows them. If Temporal refuses the start as invalid, the reason may
// be an unknown search attribute, so execute tries again without them.
func (c *Client) execute(ctx context.Context, in workflows.Start, o client.StartWorkflowOptions) error {
	if !c.unindexed.Load() {
		o.TypedSearchAttributes = workflows.Attributes(in)
		if _, err := c.temporal.ExecuteWorkflow(ctx, o, workflows.Agent, in); !errors.As(err, new(*serviceerror.InvalidArgument)) {
			return err
		}
		o.TypedSearchAttributes = temporal.SearchAttributes{}
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, o, workflows.Agent, in)
	if err == nil {
		c.unindexed.Store(true)
	}
	return err
}
