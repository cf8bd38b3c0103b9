package client

import (
	"context"
	"errors"
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

// Status is the status of an agent.
type Status string

// The statuses of an agent. Running agents have one of the first three.
const (
	Running    Status = Status(agent.Running) // a turn is running
	Waiting    Status = Status(agent.Waiting) // the agent waits for a message, or for a person's decision on a tool call
	Held       Status = Status(agent.HeldUp)  // a failure holds the turn until a person sends a message
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
	// Messages are the messages that the agent holds. First is the place of the first of them in the transcript, counted from 0. Messages
	// before First were summarised: see [Client.Earlier].
	Messages []agent.Message
	First    int
	// Retry is a call that failed and is tried again; nil if there is none, and in the result of [Client.Read].
	Retry *Retry
	// Pending are the tool calls without a result.
	Pending []agent.Call
	// Inbox are the messages that the agent has received and not taken into its transcript, shortened by [workflows.Waiting]. They stay in
	// the inbox while the turn is held.
	Inbox []agent.InboxMessage
	// Children are the running sub-agents, and the newest of those that have ended. ChildCount counts all sub-agents.
	Children   []Child
	ChildCount int
	Usage      agent.Usage
	// Held says why the turn is held; nil if it is not.
	Held *agent.Held
	// Answer is the last text that the agent addressed to the user. Stopped names the limit that ended the last turn. Failure says why the
	// turn is held, or why the agent ended without an answer.
	Answer  string
	Stopped string
	Failure string
	// Class is the type of the failure, such as an [llm.Class]. It is empty if there is no failure, or if the failure has no type.
	Class string
}

// Child is a sub-agent.
type Child struct {
	ID     string
	Agent  string
	Status Status
}

// queryTimeout limits the time of one query.
const queryTimeout = 5 * time.Second

// Transcript returns one page of the transcript, which begins with the message at the place from, and the agent's status. Places count from
// 0. Transcript needs a worker, even if the agent has ended.
func (c *Client) Transcript(ctx context.Context, id string, from int) (workflows.Transcript, error) {
	var page workflows.Transcript
	err := c.query(ctx, id, &page, workflows.TranscriptQuery, workflows.TranscriptInput{From: from})
	return page, err
}

// State returns an agent's status and usage, without its transcript. State needs a worker, even if the agent has ended.
func (c *Client) State(ctx context.Context, id string) (workflows.View, error) {
	var view workflows.View
	return view, c.query(ctx, id, &view, workflows.StateQuery)
}

const (
	// busyTimeout limits the time for which a query is repeated.
	busyTimeout = 30 * time.Second
	// maxQueryFailures is the number of failures in the worker after which a query is not repeated.
	maxQueryFailures = 5
)

// query sends a query to a worker and decodes the result into out. It repeats the query in two cases. Temporal may refuse a query before a
// worker gets it, because many clients query the same agent. Or the worker may fail when it replays the agent's history for the query.
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

// ask sends a query once. The result refused is true if Temporal refused the query, so that it may be repeated. It is false for all other
// errors, such as the end of queryTimeout.
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

// Look is the status of an agent and the length of its transcript.
type Look struct {
	Status Status
	// Count is the number of messages in the transcript. It is 0 if the agent has ended.
	Count int
}

// Look returns the status of an agent. It needs a worker if the agent is running.
func (c *Client) Look(ctx context.Context, id string) (Look, error) {
	found, err := c.describe(ctx, id)
	if err != nil || found.status.Ended() {
		return Look{Status: found.status}, err
	}
	view, err := c.State(ctx, id)
	return Look{Status: Status(view.Status), Count: view.Messages}, err
}

// Show returns a snapshot of an agent. It queries a worker if the agent is running. If the agent has ended, Show reads its history and needs
// no worker.
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
	if err := c.query(ctx, id, &snap.Pending, workflows.PendingQuery); err != nil {
		return Snapshot{}, err
	}
	if snap.Held != nil {
		snap.Failure, snap.Class = snap.Held.Message, snap.Held.Class
	}
	snap.ChildCount = view.ChildCount
	snap.Children, err = c.children(ctx, view.Children)
	return snap, err
}

// Read returns a snapshot of an agent from the history of its newest run. It needs no worker, even if the agent is running.
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

// read reads the history of a run.
func (c *Client) read(ctx context.Context, from agent.RunRef) (*history.Run, error) {
	run, err := history.Read(ctx, c.temporal, from, c.converter)
	return run, wrap("read", from.ID, err)
}

// children returns sub-agents with their statuses.
func (c *Client) children(ctx context.Context, all []agent.Child) ([]Child, error) {
	var children []Child
	for _, child := range all {
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
	// version is the deployment version of the workers; nil if they have none.
	version *workflowpb.WorkflowExecutionVersioningInfo
}

// describe describes the newest run of an agent. The error is [ErrNotFound] if no agent has the ID.
func (c *Client) describe(ctx context.Context, id string) (description, error) {
	found, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return description{}, wrap("describe", id, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != workflows.Agent {
		return description{}, notFoundError(id, ": the workflow with this ID has the type "+info.GetType().GetName())
	}
	return description{
		status: closeStatus(info.GetStatus()), agent: c.memo(info.GetMemo(), workflows.MemoAgent),
		task: c.memo(info.GetMemo(), workflows.MemoTask), queue: info.GetTaskQueue(),
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
