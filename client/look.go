package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Status is the status of an agent. In a [Started], an [Entry] and a [Child], every agent that has not ended has the status
// [Running]. A [Snapshot], a [Look], a [Standing] and a [Progress] distinguish [Running], [Waiting] and [Held].
type Status string

// The statuses of an agent. An agent with one of the first three has not ended.
const (
	Running    Status = Status(agent.Running) // a turn is running
	Waiting    Status = Status(agent.Waiting) // the agent waits for a message, or for a person's decision on a tool call
	Held       Status = Status(agent.HeldUp)  // a failure holds the turn until the agent gets a message
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Terminated Status = "terminated"
	TimedOut   Status = "timed_out"
)

// Ended reports whether the agent has ended. It is false for the zero Status and true for [Unknown].
func (s Status) Ended() bool { return s != "" && s != Running && s != Waiting && s != Held }

// Snapshot is an agent's status, transcript and usage at one time.
type Snapshot struct {
	ID     string
	Agent  string
	Status Status
	// Messages are the messages that the agent holds. First is the index of the first of them in the whole transcript, counted
	// from 0. The messages before First were summarised: see [Client.Earlier].
	Messages []agent.Message
	First    int
	// Retry is a failed call that is tried again; nil if there is none. [Client.Read] always leaves it nil.
	Retry *Retry
	// Pending are the tool calls without a result.
	Pending []agent.Call
	// Inbox are the messages that the agent has received and not yet taken into its transcript. Their texts are cut and their
	// images removed: see [workflows.Waiting]. While the turn is held, the messages stay in the inbox.
	Inbox []agent.InboxMessage
	// Children are all running sub-agents and the newest sub-agents that have ended. ChildCount is the number of all sub-agents.
	Children   []Child
	ChildCount int
	Usage      agent.Usage
	// Held says why the turn is held; nil if it is not.
	Held *agent.Held
	// Answer is the text of the agent's last answer; empty if there is none. Stopped names the limit that ended the last turn:
	// "model_calls", "tokens", "cost" or "time"; empty if no limit did. Failure says why the turn is held, or why the agent
	// ended without completing; empty otherwise.
	Answer  string
	Stopped string
	Failure string
	// Class is the type of the failure, such as an [llm.Class]. It is empty if there is no failure, or if the failure has no type.
	Class string
}

// Child is a sub-agent in a [Snapshot].
type Child struct {
	ID     string
	Agent  string
	Status Status
}

// queryTimeout limits the time of one try of a query.
const queryTimeout = 5 * time.Second

// Transcript returns one page of an agent's transcript, and the agent's status. The parameter from is the index of the page's
// first message; the first message of the transcript has the index 0. If the message with the index from was summarised, the
// page begins with the first message that was not summarised. Transcript needs a worker, even if the agent has ended.
func (c *Client) Transcript(ctx context.Context, id string, from int) (protocol.TranscriptPage, error) {
	var page protocol.TranscriptPage
	err := c.query(ctx, id, &page, protocol.TranscriptQuery, protocol.TranscriptInput{From: from})
	return page, err
}

// State returns an agent's status and usage, without its transcript. State needs a worker, even if the agent has ended. While the
// agent reads its state from an earlier run, State repeats the query, for at most 30 seconds.
func (c *Client) State(ctx context.Context, id string) (protocol.StateView, error) {
	began := time.Now()
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		var view protocol.StateView
		err := c.query(ctx, id, &view, protocol.StateQuery)
		switch {
		case err != nil || !view.Reading:
			return view, err
		case time.Since(began) > busyTimeout:
			return view, &agentError{fmt.Sprintf("agent %q still reads its state from an earlier run", id), []error{ErrNoWorker}}
		case !sleep(ctx, pause):
			return view, fmt.Errorf("query agent %q: %w", id, context.Cause(ctx))
		}
	}
}

const (
	// busyTimeout limits the time for which a query is repeated.
	busyTimeout = 30 * time.Second
	// maxQueryFailures is the number of failures in the worker after which a query is not repeated.
	maxQueryFailures = 5
)

// query sends a query to a worker and decodes the result into out. It repeats the query in two cases, for at most busyTimeout.
// In the first case, Temporal refuses the query before a worker gets it, because many clients query the same agent. In the
// second case, a worker fails when it replays the agent's history for the query.
func (c *Client) query(ctx context.Context, id string, out any, name string, args ...any) error {
	began, failures := time.Now(), 0
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		refused, err := c.ask(ctx, id, out, name, args...)
		if errors.As(err, new(*serviceerror.QueryFailed)) {
			failures++
			refused = failures < maxQueryFailures
		}
		if err == nil || !refused || time.Since(began) > busyTimeout || !sleep(ctx, pause) {
			return c.wrapUnanswered(ctx, "query", id, err)
		}
	}
}

// ask sends a query once. The result named refused is true if Temporal refused the query before a worker got it, so that the caller
// may repeat the query. It is false for all other errors, for example if there was no answer within queryTimeout.
func (c *Client) ask(ctx context.Context, id string, out any, name string, args ...any) (refused bool, err error) {
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, err := c.temporal.QueryWorkflow(asked, id, "", name, args...)
	if err == nil {
		return false, value.Get(out)
	}
	var (
		full     *serviceerror.ResourceExhausted
		deadline *serviceerror.DeadlineExceeded // the SDK returns it at once if its next retry would come after the deadline
	)
	early := errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case asked.Err() != nil:
		return false, err
	case early: // each try of the SDK failed: Temporal refused the query, or does not answer
		return !c.temporalIsDown(ctx), err
	}
	return errors.As(err, &full), err
}

// Look is the result of [Client.Look]: the status of an agent and the length of its transcript.
type Look struct {
	Status Status
	// Count is the number of messages in the transcript. It is 0 if the agent has ended, because Look then asks no worker.
	Count int
}

// Look returns the status of an agent and the length of its transcript. It needs a worker, unless the agent has ended.
func (c *Client) Look(ctx context.Context, id string) (Look, error) {
	found, err := c.describe(ctx, id)
	if err != nil || found.status.Ended() {
		return Look{Status: found.status}, err
	}
	view, err := c.State(ctx, id)
	return Look{Status: Status(view.Status), Count: view.Messages}, err
}

// Show returns a snapshot of an agent. If the agent has ended, Show reads its history and needs no worker. Otherwise, Show
// queries a worker.
func (c *Client) Show(ctx context.Context, id string) (Snapshot, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return Snapshot{}, err
	}
	if found.status.Ended() {
		return c.Read(ctx, id)
	}
	view, err := c.State(ctx, id)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{
		ID: id, Agent: view.Agent, Status: Status(view.Status), Usage: view.Usage, Held: view.Held, Answer: view.Answer,
		Stopped: view.Turn.Stopped, Retry: found.retry,
	}
	for {
		page, err := c.Transcript(ctx, id, snap.First+len(snap.Messages))
		if err != nil {
			return Snapshot{}, err
		}
		if len(snap.Messages) == 0 {
			snap.First = page.First
		}
		snap.Inbox = page.Inbox
		snap.Messages = append(snap.Messages, page.Messages...)
		if snap.First+len(snap.Messages) >= page.Count || len(page.Messages) == 0 {
			break
		}
	}
	if err := c.query(ctx, id, &snap.Pending, protocol.PendingQuery); err != nil {
		return Snapshot{}, err
	}
	if snap.Held != nil {
		snap.Failure, snap.Class = snap.Held.Message, snap.Held.Class
	}
	snap.ChildCount = view.ChildCount
	snap.Children, err = c.children(ctx, view.Children)
	return snap, err
}

// Read returns a snapshot of an agent from the Temporal history of its newest run. It needs no worker, even if the agent is
// running.
func (c *Client) Read(ctx context.Context, id string) (Snapshot, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return Snapshot{}, err
	}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{ID: id, Agent: run.Start.Agent, Status: found.status}
	s := run.State
	if s == nil {
		return snap, nil
	}
	snap.Usage, snap.Held, snap.Answer, snap.Stopped = s.Usage, s.Held, s.Answer(), s.Turn.Stopped
	snap.Messages, snap.First, snap.Pending, snap.Inbox = s.Messages, s.Dropped, s.Pending(), workflows.Waiting(s.Inbox)
	if !found.status.Ended() {
		snap.Status = Status(s.Status())
	}
	switch {
	case snap.Status == Held:
		snap.Failure, snap.Class = s.Held.Message, s.Held.Class
	case found.status.Ended() && found.status != Completed:
		snap.Failure = protocol.EndText(run.End)
		if failed, ok := errors.AsType[*temporal.ApplicationError](run.End); ok {
			snap.Class = failed.Type()
		}
	}
	snap.ChildCount = s.ChildCount()
	snap.Children, err = c.children(ctx, s.Children)
	return snap, err
}

// read replays the history of the run with the IDs ref.ID and ref.RunID, and returns the run with its state: see
// [history.Read]. If ref.Events is not 0, read replays only the first ref.Events events.
func (c *Client) read(ctx context.Context, ref agent.RunRef) (*history.Run, error) {
	run, err := history.Read(ctx, c.temporal, ref, c.converter)
	return run, wrap("read", ref.ID, err)
}

// children converts the sub-agents in a parent's state for a [Snapshot]. It requests the status of each sub-agent from
// Temporal. It leaves out sub-agents that have not been started.
func (c *Client) children(ctx context.Context, subAgents []agent.Child) ([]Child, error) {
	var children []Child
	for _, child := range subAgents {
		d, err := c.describe(ctx, child.ID)
		status := d.status
		switch {
		case err == nil:
		case !errors.Is(err, ErrNotFound):
			return nil, err
		case child.Done:
			status = Completed
		case child.Started:
			status = Unknown
		default:
			continue // the sub-agent has not been started
		}
		children = append(children, Child{ID: child.ID, Agent: child.Agent, Status: status})
	}
	return children, nil
}

// description is Temporal's description of the newest run of an agent.
type description struct {
	status Status
	agent  string
	task   string
	queue  string
	retry  *Retry
	words  *PartialText
	runID  string
	// version is the worker deployment version of the run; nil if its workers have none.
	version *workflowpb.WorkflowExecutionVersioningInfo
}

// describe asks Temporal for the description of the newest run of an agent. It needs no worker. The error is [ErrNotFound] if no
// workflow has the ID, or if the workflow with the ID is not an agent.
func (c *Client) describe(ctx context.Context, id string) (description, error) {
	found, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return description{}, wrap("describe", id, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != protocol.AgentWorkflow {
		return description{}, notFoundError(id, ": the workflow with this ID has the type "+info.GetType().GetName())
	}
	return description{
		status: closeStatus(info.GetStatus()), agent: c.memo(info.GetMemo(), protocol.MemoAgent),
		task: c.memo(info.GetMemo(), protocol.MemoTask), queue: info.GetTaskQueue(),
		retry: c.retry(found.GetPendingActivities()), words: c.partialText(found.GetPendingActivities()), runID: info.GetExecution().GetRunId(),
		version: info.GetVersioningInfo(),
	}, nil
}

func closeStatus(s enumspb.WorkflowExecutionStatus) Status {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return Completed
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return Failed
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return Cancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return Terminated
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return TimedOut
	default: // running, or continued as new
		return Running
	}
}

func (c *Client) memo(m *commonpb.Memo, field string) string {
	var text string
	// FromPayload may send a request to a codec server, so it is not called for a missing field.
	if p := m.GetFields()[field]; p == nil || c.converter.FromPayload(p, &text) != nil {
		return ""
	}
	return text
}
