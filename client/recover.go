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
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/external"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// ErrNotResumable says that [Client.Resume] cannot resume an agent, because the agent has completed, or because it ended before
// it began to work.
var ErrNotResumable = errors.New("nothing to resume")

// ResumeOptions are the options of [Client.Resume]. The zero value resumes the agent without a message, with the definition that it had.
type ResumeOptions struct {
	// Message is sent to the resumed agent, which takes it before its next model call. Empty means no message.
	Message string
	// Reload says that the agent loads its definition again. Without Reload, the agent keeps the definition that it had.
	Reload bool
}

// Resume continues an agent that failed, was cancelled, was terminated or timed out. It starts a new Temporal run with the same
// workflow ID, on the task queue of the client. The new run begins with the last state of the agent, so calls that have a result
// are not made again.
//
// If the agent has not ended, or if another program resumes it at the same time and is faster, Resume starts nothing and sets
// `Found` in the result. The agent then does not get the message in the options.
//
// If the agent has completed, or ended before it began to work, the error wraps [ErrNotResumable].
func (c *Client) Resume(ctx context.Context, id string, o ResumeOptions) (Started, error) {
	found, err := c.describe(ctx, id)
	switch {
	case err != nil:
		return Started{}, err
	case !found.status.Ended():
		return Started{ID: id, Found: true, Status: found.status}, nil
	case found.status == Completed:
		return Started{}, fmt.Errorf("resume agent %q: %w: the agent has completed; fork it to continue from its transcript", id, ErrNotResumable)
	}
	var message *agent.QueuedMessage
	if o.Message != "" {
		if message, err = newMessage(agent.QueuedMessage{Text: o.Message, Steer: true}); err != nil {
			return Started{}, fmt.Errorf("resume agent %q: %w", id, err)
		}
		signedBy(ctx, message)
	}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	if err != nil {
		return Started{}, err
	}
	started, err := c.resume(ctx, id, found, run, message, o.Reload)
	if err == nil && started.Found && !started.Status.Ended() {
		c.reportLostResume(ctx, id)
	}
	return started, err
}

// resume starts a new run of an agent that has ended with the given run. The message may be nil. If another program has resumed the agent
// meanwhile, resume starts nothing and sets `Found`.
func (c *Client) resume(ctx context.Context, id string, found description, run *history.Run, message *agent.QueuedMessage, reload bool) (Started, error) {
	if run.State == nil {
		return Started{}, fmt.Errorf("resume agent %q: %w: the agent ended before it began to work (%w); start a new agent", id, ErrNotResumable, run.End)
	}
	in := run.Start
	in.State, in.Message, in.Next = nil, message, nil
	in.Mode, in.BaseRunID = run.State.Mode, found.runID
	in.From = &agent.RunRef{ID: id, RunID: found.runID, Resume: true, Reload: reload}
	// If another program has resumed the agent meanwhile and the agent has completed, Temporal starts nothing.
	return c.start(ctx, id, in, cmp.Or(found.task, taskOf(run)), found.priority, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
}

// reportLostResume tells a running agent that this client tried to resume it, but another program was faster. It does not wait
// long and ignores its error, because the agent only counts these reports.
func (c *Client) reportLostResume(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_ = c.update(ctx, id, nil, protocol.ResumeLostUpdate, uuid.NewString())
}

// ForkOptions are the options of [Client.Fork]. The zero value forks all messages into a chat with a new ID.
type ForkOptions struct {
	// At is the number of messages that the fork keeps, counted from the beginning of the transcript. Zero means all messages.
	At int
	// ID is the ID of the fork. Empty means a new ID: the name of the definition, a hyphen and 8 random hexadecimal digits.
	ID string
	// Message is sent to the fork, which takes it next. Empty means no message.
	Message string
	// By names who sends the message: see [Message].By.
	By string
	// PartialText asks for the text of the replies to the message while they grow: see [StartOptions].
	PartialText bool
	// Mode says what the fork does when it has answered. Empty means the mode of the original agent if there is a message.
	// Without a message, empty means [agent.Chat]: the fork can then wait for a message.
	Mode agent.Mode
}

// Fork starts a new agent, the fork, with a copy of the first messages of another agent. The option `At` is the number of
// these messages. The other agent may be running or ended; it does not change. The calls in the copied messages are not made
// again. The fork has sub-agents of its own. If an agent with the ID of the fork exists, Fork starts nothing and sets `Found`
// in the result.
//
// The error wraps an [*agent.ForkPointError] in two cases:
//   - `At` is negative or more than the number of messages of the other agent.
//   - A copied message contains a tool call whose result is in a message that is not copied, or has not come yet.
//
// The error wraps [ErrNotFound] if there is no such agent, or if Temporal has deleted the history with messages that the fork needs.
func (c *Client) Fork(ctx context.Context, id string, o ForkOptions) (Started, error) {
	found, run, err := c.newest(ctx, id)
	if err != nil {
		return Started{}, err
	}
	if run.State == nil {
		return Started{}, fmt.Errorf("fork agent %q: the agent has not begun to work, so there are no messages to fork; fork it later, or start a new agent", id)
	}
	if o.At == 0 {
		o.At = run.State.Count()
	}
	mode := run.State.Mode
	run, from, err := c.forkPoint(ctx, agent.RunRef{ID: id, RunID: found.runID}, run, o.At)
	if err != nil {
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
	in := agent.Start{
		Agent: run.Start.Agent, Mode: o.Mode, KeyVersion: agent.KeyVersion, Incarnation: uuid.NewString(),
		From:     &from,
		Metadata: run.State.Metadata, Searchable: run.Start.Searchable, Overrides: run.State.Overrides, NoUIContent: run.Start.NoUIContent,
	}
	if o.Message != "" {
		// With Steer, a fork in the middle of a turn takes the message before its next model call.
		if in.Message, err = newMessage(agent.QueuedMessage{Text: o.Message, Steer: true, Actor: agent.Actor{By: o.By}, PartialText: o.PartialText}); err != nil {
			return Started{}, fmt.Errorf("fork agent %q: %w", id, err)
		}
		signedBy(ctx, in.Message)
	}
	return c.start(ctx, o.ID, in, cmp.Or(workflows.TaskText(o.Message), found.task, taskOf(run)), found.priority, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// forkPoint returns the run with which a fork begins that keeps the first `at` messages, and the reference to it for the start of the fork.
// `newest` names the newest run of the agent, which is `run`.
func (c *Client) forkPoint(ctx context.Context, newest agent.RunRef, run *history.Run, at int) (*history.Run, agent.RunRef, error) {
	from := newest
	// Messages that were summarised are not in the state of the newest run, but in the state of an earlier run.
	for at > 0 && at < run.State.Dropped {
		previous := run.Previous
		var err error
		if run, err = c.previous(ctx, newest.ID, run); err != nil {
			return nil, from, err
		}
		from = *previous
	}
	return run, agent.RunRef{ID: from.ID, RunID: from.RunID, Events: run.Events, Fork: true, At: at}, run.State.CheckFork(at)
}

// start starts the workflow of an agent with the given input. It starts nothing and sets `Found` in the result if an agent with
// the same ID is running, or has ended and Temporal's policy `reuse` forbids a new run.
//
// `taskText` is the agent's task, as lists of agents show it. If it is empty, lists show the beginning of the first message.
func (c *Client) start(ctx context.Context, id string, in agent.Start, taskText string, priority temporal.Priority, reuse enumspb.WorkflowIdReusePolicy) (Started, error) {
	in.NoUIContent = in.NoUIContent || c.noUIContent
	memo := workflows.Memo(in)
	if taskText != "" && !in.NoUIContent {
		memo[protocol.MemoTask] = taskText
	}
	err := c.execute(ctx, in, client.StartWorkflowOptions{
		ID: id, TaskQueue: c.taskQueue,
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     memo,
		Priority:                                 priority,
		StaticSummary:                            workflows.StaticSummary(in),
		StaticDetails:                            workflows.StaticDetails(in),
	})
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		found, err := c.describe(ctx, id)
		return Started{ID: id, Found: true, Status: found.status}, err
	}
	if err != nil {
		return Started{}, served(fmt.Sprintf("start agent %q", id), err)
	}
	started := Started{ID: id, Status: Running}
	if in.Message != nil {
		started.MessageID = in.Message.ID
	}
	return started, nil
}

// execute starts a workflow with the search attributes of agents. If the namespace does not have these attributes, Temporal
// refuses the start as invalid, and execute tries again without them, but with those in [agent.Start].Searchable.
func (c *Client) execute(ctx context.Context, in agent.Start, o client.StartWorkflowOptions) error {
	if err := external.Check(c.temporal); err != nil {
		return err
	}
	o.TypedSearchAttributes = workflows.Searchable(in)
	if !c.unindexed.Load() {
		indexed := o
		indexed.TypedSearchAttributes = workflows.Attributes(in)
		if _, err := c.temporal.ExecuteWorkflow(ctx, indexed, protocol.AgentWorkflow, in); !errors.As(err, new(*serviceerror.InvalidArgument)) {
			return err
		}
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, o, protocol.AgentWorkflow, in)
	if err == nil {
		c.unindexed.Store(true)
	}
	return err
}
