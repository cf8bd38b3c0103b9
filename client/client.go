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
	"strings"
	"unicode"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
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
	// ErrNoNamespace: Temporal has no namespace of that name.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrRefused: the agent refused a message; the error's text says why.
	ErrRefused = errors.New("refused")
)

// Client starts and reaches agents. It is safe for concurrent use.
type Client struct {
	temporal  client.Client
	taskQueue string
	converter converter.DataConverter
}

// New returns a client for the agents on a task queue; empty means
// [DefaultTaskQueue]. The Temporal client stays the caller's to close.
func New(temporal client.Client, taskQueue string) *Client {
	if taskQueue == "" {
		taskQueue = DefaultTaskQueue
	}
	return &Client{temporal, taskQueue, converter.GetDefaultDataConverter()}
}

// WithConverter returns a client that reads histories and memos with a data converter: the one of the
// Temporal client, which does not tell it. It is for agents whose payloads are encoded, by a codec
// server or by a codec of this process; nil means the SDK's.
func (c *Client) WithConverter(dc converter.DataConverter) *Client {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	return &Client{c.temporal, c.taskQueue, dc}
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
	// Images go with it: web addresses or data: URLs; see [agent.Incoming].
	Images []string
	// OutputSchema is a JSON schema that the answers have to fit; empty means the definition's.
	OutputSchema json.RawMessage
}

// Started is what came of a start.
type Started struct {
	ID string
	// Found says that an agent of this ID existed, and that nothing was started.
	Found bool
	// Status is the found agent's.
	Status Status
}

// Start starts an agent, or finds the one that has its ID: two programs that
// start one ID start one agent. A found agent does not get the message.
func (c *Client) Start(ctx context.Context, o StartOptions) (Started, error) {
	if o.Agent == "" {
		return Started{}, errors.New("start: name the agent")
	}
	if o.ID == "" {
		o.ID = o.Agent + "-" + uuid.NewString()[:8]
	}
	if err := CheckID(o.ID); err != nil {
		return Started{}, err
	}
	in := workflows.Start{Agent: o.Agent, Mode: o.Mode, Life: uuid.NewString(), OutputSchema: o.OutputSchema}
	if o.Message != "" || len(o.Images) > 0 || o.Mode != agent.Chat {
		in.Message = &agent.Incoming{ID: "first", Text: o.Message, Images: o.Images}
		if err := agent.CheckMessage(*in.Message); err != nil {
			return Started{}, fmt.Errorf("start %s: %w", o.ID, err)
		}
	}
	return c.start(ctx, o.ID, in, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// CheckID reports what is wrong with an agent ID that a person chose.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("agent ID is empty")
	case len(id) > maxIDBytes:
		return fmt.Errorf("agent ID has %d bytes; the limit is %d", len(id), maxIDBytes)
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("agent ID %q has white space or control characters", id)
	}
	return nil
}

// Message is one message to an agent.
type Message struct {
	// ID makes sending safe to repeat: an agent takes each ID once. Empty means a new one.
	ID   string
	Text string
	// Images go with it: web addresses or data: URLs; see [agent.Incoming].
	Images []string
	// Steer lets the message enter the running turn instead of the next one.
	Steer bool
}

// Send puts a message into an agent's inbox and returns its ID. It returns once the
// agent has it, which takes a running worker.
func (c *Client) Send(ctx context.Context, id string, m Message) (string, error) {
	if m.ID == "" {
		m.ID = uuid.NewString()
	}
	in := agent.Incoming{ID: m.ID, Text: m.Text, Images: m.Images, Steer: m.Steer}
	if err := agent.CheckMessage(in); err != nil {
		return m.ID, fmt.Errorf("send to %s: %w", id, err)
	}
	return m.ID, c.deliver(ctx, id, in)
}

// Close lets an agent finish when it has answered what it was sent.
func (c *Client) Close(ctx context.Context, id string) error {
	return c.update(ctx, id, workflows.CloseUpdate)
}

// update sends an update to the agent's newest run, and once more where the run ended
// meanwhile and the agent goes on in another: the agent knows what it has taken already.
// Each attempt has an update ID of its own, because Temporal answers one that was refused with
// the same refusal again for as long as the workflow is idle.
func (c *Client) update(ctx context.Context, id, name string, args ...any) error {
	for {
		handle, err := c.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateID: uuid.NewString(), UpdateName: name, Args: args,
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, nil)
		}
		var notFound *serviceerror.NotFound
		var cut *temporal.ApplicationError
		if !errors.As(err, &notFound) && (!errors.As(err, &cut) || cut.Type() != runEnded) {
			return wrap(name, id, err)
		}
		found, gone := c.describe(ctx, id)
		switch {
		case gone != nil:
			return gone
		case found.status.Ended():
			return fmt.Errorf("%s %s: %w: %s", name, id, ErrClosed, found.status)
		}
		if !sleep(ctx, minPause) {
			return wrap(name, id, context.Cause(ctx))
		}
	}
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
		return fmt.Errorf("%s %s: %w", operation, id, ErrNotFound)
	case errors.As(err, &refused) && refused.Type() == workflows.Refused:
		return fmt.Errorf("%s %s: %w: %s", operation, id, ErrRefused, refused.Message())
	case errors.As(err, &deadline), errors.As(err, &noPoller), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w: %w", operation, id, ErrNoWorker, err)
	}
	return served(operation, id, err)
}

// served is wrap for what Temporal does without a worker.
func served(operation, id string, err error) error {
	if namespace, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return fmt.Errorf("%s %s: %w: %s", operation, id, ErrNoNamespace, namespace.Namespace)
	}
	return fmt.Errorf("%s %s: %w", operation, id, err)
}
