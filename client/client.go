// Package client starts agents, sends messages to them, and reads their status and transcripts. The program cmd/starter uses
// it, and other programs can use it in the same way.
//
// If payloads are encoded, by a codec server or by a codec in the program, a [Client] needs the data converter of its
// Temporal client: see [Client.WithConverter].
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// DefaultTaskQueue is the Temporal task queue of an agent if the program names no other task queue.
const DefaultTaskQueue = protocol.DefaultTaskQueue

// maxIDBytes is the largest length of an agent ID, in bytes. Temporal accepts workflow IDs of 1000 bytes, but the ID of a
// sub-agent begins with the ID of its parent, so there must be room for more.
const maxIDBytes = 200

// UnknownAgent is the [Snapshot].Class of an agent that failed because no worker has its definition, neither in its configuration nor by
// a lookup. The name is wrong, or the agent is missing on the workers.
const UnknownAgent = protocol.UnknownAgent

// ClosedError says that an operation failed because the agent has ended. It wraps [ErrClosed].
type ClosedError struct {
	// Operation names the operation that failed, such as "message", "close" or "cancel".
	Operation string
	// ID is the agent's ID.
	ID string
	// Status says how the agent ended.
	Status Status
}

// Error returns a text that names the operation and the agent, and says how the agent ended.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s agent %q: %v: %s", e.Operation, e.ID, ErrClosed, e.Status)
}

// Unwrap returns [ErrClosed].
func (e *ClosedError) Unwrap() error { return ErrClosed }

// Client works on the agents of one namespace. It is safe for concurrent use. Create it with [New].
type Client struct {
	temporal  client.Client
	taskQueue string
	converter converter.DataConverter
	// unindexed is true if Temporal has refused to start an agent with search attributes, because the namespace does not have them.
	unindexed *atomic.Bool
	// replays limits how many watchers replay a history at the same time. Each watcher keeps its place for twice the time of the
	// replay, so many watchers together use about a quarter of the processors.
	replays chan struct{}
	// noUIContent is set by [Client.WithoutUIContent].
	noUIContent bool
}

// New returns a client for the agents in the namespace of the Temporal client. Agents that this client starts, schedules,
// resumes or forks run on the given task queue. An empty name means [DefaultTaskQueue]. All other methods work on the agents
// of every task queue. The caller closes the Temporal client.
func New(temporal client.Client, taskQueue string) *Client {
	taskQueue = cmp.Or(taskQueue, DefaultTaskQueue)
	return &Client{
		temporal: temporal, taskQueue: taskQueue, converter: converter.GetDefaultDataConverter(), unindexed: new(atomic.Bool),
		replays: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// WithConverter returns a copy of the client that decodes histories, memos and heartbeats with `dc`. Call WithConverter if
// payloads are encoded, by a codec server or by a codec in this process. `dc` must be the data converter of the Temporal
// client. The caller has to pass it, because the Temporal client does not tell it. If `dc` is nil, the copy uses the SDK's
// default data converter.
func (c *Client) WithConverter(dc converter.DataConverter) *Client {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	copied := *c
	copied.converter = dc
	return &copied
}

// WithTaskQueue returns a copy of the client that starts and resumes agents on the given task queue. An empty name means
// [DefaultTaskQueue].
func (c *Client) WithTaskQueue(taskQueue string) *Client {
	copied := *c
	copied.taskQueue = cmp.Or(taskQueue, DefaultTaskQueue)
	return &copied
}

// WithoutUIContent returns a copy of the client that keeps what people, models and tools say out of the texts that Temporal shows in lists
// and in the Web UI: the summary, the details and the memo of the agents that it starts, schedules, resumes or forks. Their workers and
// sub-agents do the same. [Entry.Task] of such an agent is empty. Give the workers the same option, for agents that other programs start.
func (c *Client) WithoutUIContent() *Client {
	copied := *c
	copied.noUIContent = true
	return &copied
}

// StartOptions say which agent to start. The zero value is not valid: Agent is required, and Message or Images in task mode.
type StartOptions struct {
	// ID is the agent's ID: see [CheckID]. If it is empty, [Client.Start] and `reagent.Execute` make a new ID from the name of
	// the definition, a hyphen and 8 random hexadecimal digits.
	ID string
	// Agent is the name of the agent's definition: see [agent.Definition]. It is required.
	Agent string
	// Mode says what the agent does when it has answered. Defaults to [agent.Task].
	Mode agent.Mode
	// Message is the first message to the agent. The mode [agent.Task] requires a message or images.
	Message string
	// By names who sends the first message, such as the user of a web application. Nothing proves it. Empty means the user of this process.
	By string
	// MessageMetadata is what the program knows about the first message, such as the order that it is about: see [Message].Metadata.
	MessageMetadata agent.Metadata
	// MessageOverrides change the definition for the turn of the first message: see [Message].Overrides.
	MessageOverrides agent.Overrides
	// MessageID is the ID of this message: see [Message]. Empty means a new ID. After an error of [Client.Start], the agent may or
	// may not have been started. If a program then sends the message again with the same ID, the agent takes it only once.
	MessageID string
	// Images are shown to the model after the text. There are at most [agent.MaxImages]. Each is an http:// or https:// URL,
	// or a data:image/ URL. All data: URLs together have at most [agent.MaxImageBytes] bytes. [agent.CheckMessage] checks
	// these limits.
	Images []string
	// Metadata is what the program knows about the agent, such as the customer: see [agent.Metadata].
	Metadata agent.Metadata
	// Searchable are names in Metadata. The namespace must have a search attribute of the type Keyword with each of these names. Search
	// attributes are not encrypted by a codec.
	Searchable []string
	// Overrides change the definition of the agent, within what the definition allows. If it does not allow them, the agent fails.
	Overrides agent.Overrides
	// PartialText asks for the text of the replies to the message, and for the output of the tools, while they grow: see
	// [Progress.PartialText] and [Progress.ToolOutputs]. A model call or a tool call then sends a heartbeat in each second in which
	// there is new text. Temporal Cloud bills each heartbeat.
	PartialText bool
	// OutputSchema is a JSON schema that the answers must fit. Empty means the schema of the definition. If the worker cannot
	// use the schema, it does not call the model, and the turn fails.
	OutputSchema json.RawMessage
	// Priority is the Temporal priority of the agent: 1 (highest) to 5 (lowest). If tasks wait in the task queue, Temporal gives out
	// the tasks with the highest priority first. Zero means 5 for [Client.ScheduleAction]. For [Client.Start], it means 2 for a chat and 3
	// for a task, which is Temporal's default. A sub-agent has priority 4, or the priority of its parent if that is lower. If the agent's
	// definition has a priority, model calls and tool calls have that priority instead.
	Priority int
	// Tenant is Temporal's fairness key, of at most 64 bytes. Tenants with the same priority take turns, so that a backlog of one
	// does not stop the others. Sub-agents have the tenant of their parent. Empty means no fairness. Temporal Cloud bills fairness
	// separately.
	Tenant string
}

// priority returns Temporal's priority for the options. The parameters are the defaults for a chat and for a task; 0 means
// Temporal's default.
func (o StartOptions) priority(chat, task int) temporal.Priority {
	key := task
	if o.Mode == agent.Chat {
		key = chat
	}
	return temporal.Priority{PriorityKey: cmp.Or(o.Priority, key), FairnessKey: o.Tenant}
}

// Started says which agent [Client.Start], [Client.Resume] or [Client.Fork] has started or found.
type Started struct {
	// ID is the agent's ID.
	ID string
	// MessageID is the ID of the message with which the agent was started. Pass it to [Client.Reply] to wait for the answer.
	// MessageID is empty if there was no message, or if nothing was started.
	MessageID string
	// Found says that nothing was started, because an agent with this ID exists already.
	Found bool
	// Status is [Running] if the agent was started or has not ended. If the agent has ended, Status says how.
	Status Status
}

// Start starts an agent. If an agent with the same ID exists, running or ended, Start starts nothing and sets `Found` in the
// result. The existing agent does not get the message. So if two programs call Start with the same ID, only one agent starts.
// [Client.Same] tells whether the existing agent has the same task. The error wraps [ErrInvalid] if the options are invalid.
func (c *Client) Start(ctx context.Context, o StartOptions) (Started, error) {
	if o.Agent != "" && o.ID == "" {
		o.ID = o.Agent + "-" + uuid.NewString()[:8]
	}
	in, err := o.start()
	if err != nil {
		return Started{}, fmt.Errorf("start agent %q: %w", o.ID, err)
	}
	in.Incarnation = uuid.NewString()
	signedBy(ctx, in.Message)
	return c.start(ctx, o.ID, in, "", o.priority(protocol.ChatPriority, 0), enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
}

// ScheduleAction returns the action for a Temporal Schedule that starts a new agent each time. The options must have an ID.
// Temporal makes the ID of each agent from this ID and the time. The agents get no search attributes. To give them some, set
// `TypedSearchAttributes` of the action to the result of [workflows.Attributes].
func (c *Client) ScheduleAction(o StartOptions) (*client.ScheduleWorkflowAction, error) {
	in, err := o.start()
	if err != nil {
		return nil, fmt.Errorf("schedule agent %q: %w", o.ID, err)
	}
	in.NoUIContent = c.noUIContent
	// Incarnation stays empty, so that each agent of the schedule has the ID of its first run as its incarnation. All agents of
	// the schedule have the key version of this program, even if a worker of a later version runs them.
	return &client.ScheduleWorkflowAction{
		ID: o.ID, Workflow: protocol.AgentWorkflow, Args: []any{in}, TaskQueue: c.taskQueue,
		Memo: workflows.Memo(in), StaticSummary: workflows.StaticSummary(in), StaticDetails: workflows.StaticDetails(in),
		Priority: o.priority(protocol.SchedulePriority, protocol.SchedulePriority),
	}, nil
}

// start returns the workflow input for the options, or an error if the options are invalid. The input does not have its
// `Incarnation` yet: see [agent.Start].
func (o StartOptions) start() (agent.Start, error) {
	in := agent.Start{Agent: o.Agent, Mode: o.Mode, KeyVersion: agent.KeyVersion, OutputSchema: o.OutputSchema, Metadata: o.Metadata, Searchable: o.Searchable, Overrides: o.Overrides}
	if o.Agent == "" {
		return in, invalid(errors.New("StartOptions.Agent is empty: set it to the name of an agent of the configuration"))
	}
	if err := cmp.Or(CheckID(o.ID), protocol.CheckPriority(o.Priority), protocol.CheckTenant(o.Tenant), in.CheckWishes()); err != nil {
		return in, invalid(err)
	}
	if o.Message == "" && len(o.Images) == 0 && o.Mode == agent.Chat {
		return in, nil
	}
	var err error
	in.Message, err = newMessage(agent.QueuedMessage{ID: o.MessageID, Text: o.Message, Images: o.Images, Actor: agent.Actor{By: o.By}, Metadata: o.MessageMetadata, Overrides: o.MessageOverrides, PartialText: o.PartialText})
	return in, err
}

// newMessage returns a copy of a message, with a new ID if the message has none. The error is that of [agent.CheckMessage], and wraps [ErrInvalid].
func newMessage(m agent.QueuedMessage) (*agent.QueuedMessage, error) {
	m.ID = cmp.Or(m.ID, uuid.NewString())
	return &m, invalid(agent.CheckMessage(m))
}

// CheckID returns an error that wraps [ErrInvalid] if the text cannot be the ID of a new agent. An agent ID has 1 to 200 characters. Each is a
// printable ASCII character other than a space.
func CheckID(id string) error {
	switch {
	case id == "":
		return invalid(errors.New("the agent ID is empty; choose an ID"))
	case len(id) > maxIDBytes:
		return invalid(fmt.Errorf("the agent ID has %d bytes; the limit is %d: choose a shorter ID", len(id), maxIDBytes))
	case strings.Contains(id, " ") || agent.CheckID(id) != nil:
		return invalid(fmt.Errorf("the agent ID %q has a space or a character other than printable ASCII: use letters, digits, - and _", id))
	}
	return nil
}

// Message is one message to an agent.
type Message struct {
	// ID identifies the message. It is safe to send a message again with the same ID, because the agent drops a message whose ID
	// it has already received. An ID has 1 to 200 bytes and no white space or control characters. Empty means a new ID.
	ID string
	// Text is the text of the message. It may be empty if there are images.
	Text string
	// Images are shown to the model after the text. There are at most [agent.MaxImages]. Each is an http:// or https:// URL,
	// or a data:image/ URL. All data: URLs together have at most [agent.MaxImageBytes] bytes. [agent.CheckMessage] checks
	// these limits.
	Images []string
	// Steer makes this a steering message: the agent takes it before its next model call. Without Steer, the agent takes the
	// message when it has answered the earlier messages.
	Steer bool
	// By names who sends the message, such as the user of a web application. Nothing proves it. Empty means the user of this process.
	By string
	// Metadata is what the program knows about the message, such as the order that it is about: see [agent.Metadata]. It holds for the turn
	// that takes the message, together with that of the agent. The metadata of an answer to a question has no effect.
	Metadata agent.Metadata
	// Overrides change the definition of the agent for the turn that the message begins, within what the definition allows: see
	// [agent.Overrides]. The limits of tokens and cost are for this turn, and the instructions have at most
	// [agent.MaxMessageInstructions] bytes. If the definition does not allow them, the turn ends without a model call, and the agent gets
	// the status [Held], or fails if it is a task. They cannot be used with Steer, and those of an answer to a question have no effect.
	Overrides agent.Overrides
	// PartialText asks for the text of the replies to the message, and for the output of the tools, while they grow: see
	// [StartOptions].
	PartialText bool
	// Automatic says that a program sends the message by itself, and not for a person. While the agent waits for a person's answer to
	// a question, it refuses such a message, so that the message never becomes the answer.
	Automatic bool
}

// Check returns an error that wraps [ErrInvalid] and [agent.ErrMessage] if the message is invalid. The ID may be empty.
func (m Message) Check() error {
	m.ID = cmp.Or(m.ID, uuid.NewString())
	return invalid(agent.CheckMessage(m.queued()))
}

func (m Message) queued() agent.QueuedMessage {
	return agent.QueuedMessage{ID: m.ID, Text: m.Text, Images: m.Images, Actor: agent.Actor{By: m.By}, Metadata: m.Metadata, Overrides: m.Overrides, Steer: m.Steer, PartialText: m.PartialText}
}

// Sent is the result of [Client.Send]. After an error, it has only the ID of the message.
type Sent struct {
	// MessageID is the ID of the sent message. If the [Message] had no ID, [Client.Send] has made this one.
	MessageID string
	// Duplicate says that the agent dropped the message, because it had already received a message with this ID. Duplicate is
	// always false if [Client.Send] made the ID.
	Duplicate bool
	// Differs says that the message is a duplicate by its ID only: the agent has received another text or other images with this ID, and has
	// dropped this message. The sender has used an ID twice. Differs is false if that is not known: if the earlier message has been
	// summarised, or refused or changed by a guardrail, or if a worker of an earlier version answers.
	Differs bool
	// Answered is the key of the call that the message has answered: see [agent.AskUser]. It is empty if the message is no answer.
	Answered agent.Key
	// Started and Resumed say that [Client.SendOrStart] has started the agent with the message, or has resumed it.
	Started, Resumed bool
}

// Send puts a message into an agent's queue. Send needs a running worker, and returns when the agent has received the
// message. After a temporary failure, Send tries again with the same message ID, so the agent takes the message only once.
//
// If the agent waits for a person's answer to a question (see [agent.AskUser]), a message without images becomes the answer. The agent
// refuses such a message if it is [Message].Automatic.
//
// The error wraps [ErrInvalid] and [agent.ErrMessage] if the message is invalid, [ErrClosed] if the agent has ended, and [ErrRefused] if the
// agent refuses the message. After any other error, the agent may or may not have received the message: send it again with the
// ID in [Sent].
func (c *Client) Send(ctx context.Context, id string, m Message) (Sent, error) {
	return c.Agent(id).Send(ctx, m)
}

// Close asks an agent to end when it has answered all messages that it has received. Close needs a running worker, and
// returns when the agent has received the request.
func (c *Client) Close(ctx context.Context, id string) error {
	return c.update(ctx, id, nil, protocol.CloseUpdate)
}

// RequestPartialText asks an agent for the text of its replies and the output of its tools while they grow: see
// [Progress.PartialText] and [Progress.ToolOutputs]. The model calls and tool calls that begin within the time d report them. A time of
// more than one hour counts as one hour. RequestPartialText needs a running worker.
//
// A program that starts an agent or sends it a message can set PartialText in [StartOptions] or [Message] instead, which needs no
// further request.
func (c *Client) RequestPartialText(ctx context.Context, id string, d time.Duration) error {
	return c.update(ctx, id, nil, protocol.PartialTextUpdate, min(d, time.Hour).Milliseconds())
}

// update sends a Temporal update with the given name to an agent, and decodes the result into `out`, which may be nil. If the
// agent continues in a new run meanwhile, the new run gets the update.
//
// After a failure that is [transient], update sends the update again, at most [maxFailures] times. The agent may then get the
// update twice. The second time does no harm: for example, the agent drops a message that it has already received.
func (c *Client) update(ctx context.Context, id string, out any, name string, args ...any) error {
	failures := 0
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		// Each try has a new update ID. Temporal remembers the ID of an update that the workflow has rejected. While the
		// workflow is idle, Temporal also rejects later updates with this ID.
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
				err = context.Cause(ctx) // the SDK's error does not contain the cause
			}
			return c.wrapUnanswered(ctx, name, id, err)
		}
		if !sleep(ctx, pause) {
			return c.wrapUnanswered(ctx, name, id, context.Cause(ctx))
		}
	}
}

// maxFailures is the largest number of times that [Client.update] sends an update again after temporary failures.
const maxFailures = 10

// ended reports whether err says that an update found no running agent. Either the run that got the update has ended, or no
// workflow has the ID.
func ended(err error) bool {
	if cut, ok := errors.AsType[*temporal.ApplicationError](err); ok && cut.Type() == runEnded {
		return true
	}
	return errors.As(err, new(*serviceerror.NotFound))
}

// transient reports whether err describes a failure that usually passes within a second: Temporal limits the requests to the
// agent, Temporal cannot be reached, or the worker did not complete the workflow task that had the update.
func transient(err error) bool {
	return errors.As(err, new(*serviceerror.ResourceExhausted)) || errors.As(err, new(*serviceerror.WorkflowNotReady)) || unavailable(err)
}

// runEnded is the type of the error that Temporal returns if a run accepted an update, but ended before the update was
// complete.
const runEnded = "AcceptedUpdateCompletedWorkflow"
