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

// Status tells where an agent stands.
type Status string

// The states of an agent. The first three are those of one that runs.
const (
	Running    Status = Status(agent.Running)
	Waiting    Status = Status(agent.Waiting)
	Held       Status = Status(agent.HeldUp)
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Terminated Status = "terminated"
	TimedOut   Status = "timed_out"
)

// Ended reports whether the agent has ended.
func (s Status) Ended() bool { return s != "" && s != Running && s != Waiting && s != Held }

// Snapshot describes an agent, with its transcript.
type Snapshot struct {
	ID     string
	Agent  string
	Status Status
	// Messages are those that the agent holds, First the place of the first of them: those before it were
	// summarised, see [Client.Earlier].
	Messages []agent.Message
	First    int
	// Retry is a call that failed and is tried again; nil where there is none.
	Retry   *Retry
	Pending []agent.Call
	// Inbox are the messages that the agent has and has not read yet, as [workflows.Waiting] returns them. While its turn is
	// held they wait with it.
	Inbox []agent.InboxMessage
	// Children are those that run and the newest of those that have ended; ChildCount counts all.
	Children   []Child
	ChildCount int
	Usage      agent.Usage
	Held       *agent.Held
	// Answer is the last thing the agent said; Stopped names the limit that ended its
	// last turn; Failure tells why there is no answer.
	Answer  string
	Stopped string
	Failure string
	// Class is the type of the failure, such as an [llm.Class]; empty where there is none.
	Class string
}

// Child is a sub-agent.
type Child struct {
	ID     string
	Agent  string
	Status Status
}

// queryTimeout bounds one question to a running agent.
const queryTimeout = 5 * time.Second

// Transcript returns the messages from the given one on, as many as a page holds, and where the agent
// stands. It asks a worker, also for an agent that has ended.
func (c *Client) Transcript(ctx context.Context, id string, from int) (workflows.Transcript, error) {
	var page workflows.Transcript
	err := c.query(ctx, id, &page, workflows.TranscriptQuery, workflows.TranscriptInput{From: from})
	return page, err
}

// State returns what there is to know of an agent besides its transcript.
func (c *Client) State(ctx context.Context, id string) (workflows.View, error) {
	var view workflows.View
	return view, c.query(ctx, id, &view, workflows.StateQuery)
}

const (
	// busyTimeout limits the time for which a query that could not be taken is repeated.
	busyTimeout = 30 * time.Second
	// maxQueryFailures limits the repetitions of a query at which the worker fails.
	maxQueryFailures = 5
)

// query asks a worker. Where many ask one agent at once, Temporal refuses questions before a worker has seen them, and a
// worker that reads the history for one may fail at it: those are asked again.
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

// ask puts one question. Refused says that the error came before the time for an answer was over: nobody
// was too slow, but the question could not be taken.
func (c *Client) ask(ctx context.Context, id string, out any, name string, args ...any) (refused bool, err error) {
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, err := c.temporal.QueryWorkflow(asked, id, "", name, args...)
	if err == nil {
		return false, value.Get(out)
	}
	var (
		full     *serviceerror.ResourceExhausted
		deadline *serviceerror.DeadlineExceeded // of the SDK, which does not wait for a retry that would come too late
	)
	early := errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case asked.Err() != nil:
		return false, err
	case early: // Temporal refused all the time, or does not answer at all
		return !c.temporalIsDown(ctx), err
	}
	return errors.As(err, &full), err
}

// Look is the status of an agent.
type Look struct {
	Status Status
	// Count is the number of messages in its transcript.
	Count int
}

// Look returns where an agent stands. It asks a worker where the agent runs.
func (c *Client) Look(ctx context.Context, id string) (Look, error) {
	found, err := c.describe(ctx, id)
	if err != nil || found.status.Ended() {
		return Look{Status: found.status}, err
	}
	view, err := c.State(ctx, id)
	return Look{Status: Status(view.Status), Count: view.Messages}, err
}

// Show returns what there is to see of an agent: of one that runs from its worker, of one that
// has ended from its history.
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

// Read returns what there is to see of an agent from the history of its newest run. It needs no worker.
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

// read reads a run's history.
func (c *Client) read(ctx context.Context, from agent.RunRef) (*history.Run, error) {
	run, err := history.Read(ctx, c.temporal, from, c.converter)
	return run, wrap("read", from.ID, err)
}

// children looks where sub-agents stand.
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
			continue // it was never started, or is about to be
		}
		children = append(children, Child{ID: child.ID, Agent: child.Agent, Status: status})
	}
	return children, nil
}

type description struct {
	status Status
	agent  string
	task   string
	queue  string
	retry  *Retry
	words  *PartialText
	runID  string
	// version is that of the workers; nil where they have none.
	version *workflowpb.WorkflowExecutionVersioningInfo
}

func (c *Client) describe(ctx context.Context, id string) (description, error) {
	found, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return description{}, wrap("describe", id, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != workflows.Agent {
		return description{}, notFoundError(id, ": that is a workflow of type "+info.GetType().GetName())
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
	default: // a run that continued as new goes on
		return Running
	}
}

func (c *Client) memo(m *commonpb.Memo, field string) string {
	var text string
	// A codec is not asked for what is not there.
	if p := m.GetFields()[field]; p == nil || c.converter.FromPayload(p, &text) != nil {
		return ""
	}
	return text
}
