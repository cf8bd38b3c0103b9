// Package client starts agents, talks to them and looks at them. It is what
// cmd/starter is made of, for programs of one's own.
//
// Where payloads are encoded, by a codec server or by a codec of the program, a [Client] needs
// the data converter of its Temporal client: see [Client.WithConverter].
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

// DefaultTaskQueue is the task queue of agents where none is named.
const DefaultTaskQueue = "agents"

// maxIDBytes leaves room for the IDs of sub-agents, which begin with their
// parent's; Temporal takes 1000 bytes.
const maxIDBytes = 200

// Errors of this package, for errors.Is.
var (
	// ErrNotFound: there is no agent of that ID; Temporal forgets closed ones when the
	// namespace's retention has passed.
	ErrNotFound = errors.New("no such agent")
	// ErrClosed: the agent has ended and takes no messages.
	ErrClosed = errors.New("the agent has ended")
	// ErrNoWorker: nobody answers for the agent, because no worker runs on its task queue.
	ErrNoWorker = errors.New("no worker answers")
	// ErrNoServer: Temporal itself does not answer.
	ErrNoServer = errors.New("no answer from Temporal")
	// ErrNoNamespace: Temporal has no namespace of that name.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrRefused: the agent refused a message; the error's text says why.
	ErrRefused = errors.New("refused")
)

// ClosedError says that an agent has ended, and how. It is [ErrClosed] for errors.Is.
type ClosedError struct {
	// Operation is the operation that failed.
	Operation string
	ID        string
	Status    Status
}

// Error names the operation, the agent and how it ended.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s %s: %v: %s", e.Operation, e.ID, ErrClosed, e.Status)
}

// Unwrap returns [ErrClosed].
func (e *ClosedError) Unwrap() error { return ErrClosed }

// Client starts and reaches agents. It is safe for concurrent use.
type Client struct {
	temporal  client.Client
	taskQueue string
	converter converter.DataConverter
	// unindexed says that the namespace does not know the search attributes of agents.
	unindexed *atomic.Bool
}

// New returns a client for the agents on a task queue; empty means
// [DefaultTaskQueue]. The Temporal client stays the caller's to close.
func New(temporal client.Client, taskQueue string) *Client {
	if taskQueue == "" {
		taskQueue = DefaultTaskQueue
	}
	return &Client{temporal, taskQueue, converter.GetDefaultDataConverter(), new(atomic.Bool)}
}

// WithConverter returns a client that reads histories and memos with a data converter: the one of the
// Temporal client, which does not tell it. It is for agents whose payloads are encoded, by a codec
// server or by a codec of this process; nil means the SDK's.
func (c *Client) WithConverter(dc converter.DataConverter) *Client {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	return &Client{c.temporal, c.taskQueue, dc, c.unindexed}
}

// StartOptions say which agent to start.
type StartOptions struct {
	// ID is the agent's ID. Empty means a new one, made of the agent's name.
	ID string
	// Agent is the name of the definition. Required.
	Agent string
	// Mode defaults to [agent.Task].
	Mode agent.Mode
	// Message is the first message. Required in task mode.
	Message string
	// Images go with it: web addresses or data: URLs; see [agent.InboxMessage].
	Images []string
	// OutputSchema is a JSON schema that the answers have to fit; empty means the definition's.
	OutputSchema json.RawMessage
}

// Started is the result of a start.
type Started struct {
	ID string
	// MessageID is the ID of the message that the agent was started with; empty where there was none, or where the
	// agent was found. [Client.Reply] waits for its answer.
	MessageID string
	// Found says that an agent of this ID existed, and that nothing was started.
	Found bool
	// Status is the found agent's.
	Status Status
}

// Start starts an agent, or finds the one that has its ID: two programs that
// start one ID start one agent. A found agent does not get the message.
func (c *Client) Start(ctx context.Context, o StartOptions) (Started, error) {
	if o.Agent != "" && o.ID == "" {
		o.ID = o.Agent + "-" + uuid.NewString()[:8]
	}
	in, err := o.start()
	if err != nil {
		return Started{}, fmt.Errorf("start agent %q: %w", o.ID, err)
	}
	in.Incarnation = uuid.NewString()
	return c.start(ctx, o.ID, in, "", enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// ScheduleAction returns what a Temporal Schedule starts: each time a new agent, whose ID is o.ID and the time. The agent takes the
// key version of this program, and has no search attributes: the action's TypedSearchAttributes may be set to [workflows.Attributes].
func (c *Client) ScheduleAction(o StartOptions) (*client.ScheduleWorkflowAction, error) {
	in, err := o.start()
	if err != nil {
		return nil, fmt.Errorf("schedule agent %q: %w", o.ID, err)
	}
	// Life is left out: it is the ID of the agent's first run then.
	return &client.ScheduleWorkflowAction{
		ID: o.ID, Workflow: workflows.Agent, Args: []any{in}, TaskQueue: c.taskQueue,
		Memo: workflows.Memo(in), StaticSummary: workflows.StaticSummary(in), StaticDetails: workflows.StaticDetails(in),
	}, nil
}

// start returns the input of the agent's workflow.
func (o StartOptions) start() (workflows.Start, error) {
	in := workflows.Start{Agent: o.Agent, Mode: o.Mode, KeyVersion: agent.KeyVersion, OutputSchema: o.OutputSchema}
	if o.Agent == "" {
		return in, errors.New("StartOptions.Agent is empty: set it to the name of an agent of the configuration")
	}
	if err := CheckID(o.ID); err != nil {
		return in, err
	}
	if err := tool.CheckSchema(o.OutputSchema); err != nil {
		return in, fmt.Errorf("output schema: %w", err)
	}
	if o.Message == "" && len(o.Images) == 0 && o.Mode == agent.Chat {
		return in, nil
	}
	var err error
	in.Message, err = newMessage(agent.InboxMessage{Text: o.Message, Images: o.Images})
	return in, err
}

// Same reports whether the agent with the ID o.ID was started with the Agent, Message and Images of o. It reads the history of the
// agent's newest run, and returns false if that history no longer shows the first message.
func (c *Client) Same(ctx context.Context, o StartOptions) (bool, error) {
	found, err := c.describe(ctx, o.ID)
	if err != nil {
		return false, err
	}
	run, err := c.read(ctx, agent.RunRef{ID: o.ID, RunID: found.runID})
	if err != nil {
		return false, err
	}
	if run.Start.Agent != o.Agent {
		return false, nil
	}
	if !run.Start.Continues() {
		var first agent.InboxMessage
		if run.Start.Message != nil {
			first = *run.Start.Message
		}
		return first.Text == o.Message && slices.Equal(first.Images, o.Images), nil
	}
	s := run.State
	return s != nil && s.Dropped == 0 && len(s.Messages) > 0 && o.Message != "" && len(o.Images) == 0 && s.Messages[0].Content == o.Message, nil
}

// newMessage returns m with a new ID, or why no agent takes it.
func newMessage(m agent.InboxMessage) (*agent.InboxMessage, error) {
	m.ID = uuid.NewString()
	return &m, agent.CheckMessage(m)
}

// CheckID reports what is wrong with an agent ID that a person chose.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("the agent ID is empty")
	case len(id) > maxIDBytes:
		return fmt.Errorf("the agent ID has %d bytes; the limit is %d", len(id), maxIDBytes)
	case strings.Contains(id, " ") || agent.CheckID(id) != nil:
		return fmt.Errorf("the agent ID %q has white space or other characters than printable ASCII: use letters, digits, - and _", id)
	}
	return nil
}

// Message is one message to an agent.
type Message struct {
	// ID makes sending safe to repeat: an agent takes each ID once. It has 1 to 200 bytes and no white space or control
	// characters. Empty means a new one.
	ID   string
	Text string
	// Images go with it: web addresses or data: URLs; see [agent.InboxMessage].
	Images []string
	// Steer lets the message enter the running turn instead of the next one.
	Steer bool
}

// Sent is the result of sending a message.
type Sent struct {
	// MessageID is the message's ID.
	MessageID string
	// Duplicate says that the agent had a message of this ID already, and dropped this one.
	Duplicate bool
}

// Send puts a message into an agent's inbox. It returns once the agent has it, which takes a running worker.
// What may have failed for a moment is tried again with the same message ID, so that the agent takes the message once. An
// error may leave open whether the agent has the message: send it again with the ID in Sent.
func (c *Client) Send(ctx context.Context, id string, m Message) (Sent, error) {
	own := m.ID == ""
	if own {
		m.ID = uuid.NewString()
	}
	sent := Sent{MessageID: m.ID}
	in := agent.InboxMessage{ID: m.ID, Text: m.Text, Images: m.Images, Steer: m.Steer}
	if err := agent.CheckMessage(in); err != nil {
		return sent, fmt.Errorf("send to agent %q: %w", id, err)
	}
	var accepted workflows.Accepted
	err := c.deliver(ctx, id, &accepted, in)
	// An ID that was made here is a duplicate of an earlier try's only.
	sent.Duplicate = accepted.Duplicate && !own
	return sent, err
}

// Close lets an agent finish when it has answered what it was sent.
func (c *Client) Close(ctx context.Context, id string) error {
	return c.update(ctx, id, nil, workflows.CloseUpdate)
}

// update sends an update to the agent's newest run and decodes its result into out, which may be nil. It tries again
// where the run ended meanwhile and the agent goes on in another, and a few times where Temporal or the worker failed for a
// moment: the agent knows what it has taken already.
// Each try has an update ID of its own, because Temporal answers one that was refused with
// the same refusal again for as long as the workflow is idle.
func (c *Client) update(ctx context.Context, id string, out any, name string, args ...any) error {
	failures := 0
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		handle, err := c.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateID: uuid.NewString(), UpdateName: name, Args: args,
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, out)
		}
		switch {
		case err == nil:
			return nil
		case ended(err):
			found, gone := c.describe(ctx, id)
			switch {
			case gone != nil:
				return gone
			case found.status.Ended():
				return &ClosedError{Operation: name, ID: id, Status: found.status}
			}
		case transient(err) && failures < maxFailures:
			failures++
		default:
			if ctx.Err() != nil {
				err = context.Cause(ctx) // the SDK does not tell it
			}
			return c.wrapUnanswered(ctx, name, id, err)
		}
		if !sleep(ctx, pause) {
			return c.wrapUnanswered(ctx, name, id, context.Cause(ctx))
		}
	}
}

// maxFailures limits the repetitions of an update after failures that may pass.
const maxFailures = 10

// ended reports whether err says that the run to which an update was sent has ended.
func ended(err error) bool {
	if cut, ok := errors.AsType[*temporal.ApplicationError](err); ok && cut.Type() == runEnded {
		return true
	}
	return errors.As(err, new(*serviceerror.NotFound))
}

// transient reports whether err may pass by itself within a second: Temporal has too much to do for the agent at once,
// restarts, or the worker did not finish the workflow task with the update in it.
func transient(err error) bool {
	return errors.As(err, new(*serviceerror.ResourceExhausted)) || errors.As(err, new(*serviceerror.WorkflowNotReady)) || unavailable(err)
}

// runEnded is the type of Temporal's error for an update that a run took and did not finish.
const runEnded = "AcceptedUpdateCompletedWorkflow"

// wrap names the operation and the agent, and makes the errors of Temporal those
// of this package where callers branch on them.
func wrap(operation, id string, err error) error {
	var (
		notFound *serviceerror.NotFound
		deadline *serviceerror.DeadlineExceeded
		noPoller *serviceerror.FailedPrecondition
		refused  *temporal.ApplicationError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notFound):
		return notFoundError(id, "")
	case errors.As(err, &refused) && refused.Type() == workflows.Refused:
		return &agentError{fmt.Sprintf("agent %q refused it: %s", id, refused.Message()), []error{ErrRefused}}
	case errors.As(err, &deadline), errors.As(err, &noPoller), errors.Is(err, context.DeadlineExceeded):
		return &agentError{fmt.Sprintf("no worker answers for agent %q", id), []error{ErrNoWorker, err}}
	}
	return served(operation, id, err)
}

// wrapUnanswered is wrap for what takes a worker. It asks whether Temporal answers where nobody did: a question that no
// worker answers and one that Temporal does not answer look the same.
func (c *Client) wrapUnanswered(ctx context.Context, operation, id string, err error) error {
	wrapped := wrap(operation, id, err)
	if errors.Is(wrapped, ErrNoWorker) && c.temporalIsDown(context.WithoutCancel(ctx)) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return wrapped
}

// served is wrap for what Temporal does without a worker.
func served(operation, id string, err error) error {
	if namespace, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return &agentError{fmt.Sprintf("Temporal has no namespace %q", namespace.Namespace), []error{ErrNoNamespace}}
	}
	if unavailable(err) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return fmt.Errorf("%s agent %q: %w", operation, id, err)
}

// agentError is an error of this package whose text is more than that of the sentinel for which callers look.
type agentError struct {
	text string
	errs []error
}

// Error returns the text.
func (e *agentError) Error() string { return e.text }

// Unwrap returns the sentinel, and the cause where there is one.
func (e *agentError) Unwrap() []error { return e.errs }

// notFoundError returns an [ErrNotFound] for an ID; why, which may be empty, begins with a colon.
func notFoundError(id, why string) error {
	return &agentError{fmt.Sprintf("there is no agent with ID %q%s", id, why), []error{ErrNotFound}}
}
