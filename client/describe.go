package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// queryTimeout limits the time of [Client.ask] and of [Client.reportLostResume].
const queryTimeout = 5 * time.Second

// page asks a worker for one page of an agent's transcript. The page begins with the message at index `from`, counted from 0.
// If that message was summarised, the page begins with the first message that was not summarised.
func (c *Client) page(ctx context.Context, id string, from int) (protocol.TranscriptPage, error) {
	var page protocol.TranscriptPage
	err := c.query(ctx, id, &page, protocol.TranscriptQuery, protocol.TranscriptInput{From: from})
	return page, err
}

// state asks a worker for an agent's state without its transcript. While a new run reads the state of an earlier run, state
// repeats the query, for at most [busyTimeout].
func (c *Client) state(ctx context.Context, id string) (protocol.StateView, error) {
	began := time.Now()
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		var view protocol.StateView
		err := c.query(ctx, id, &view, protocol.StateQuery)
		switch {
		case err != nil || !view.Reading:
			return view, err
		case time.Since(began) > busyTimeout:
			return view, &agentError{fmt.Sprintf("agent %q still reads its state from an earlier run; try again later", id), []error{ErrNoWorker}}
		case !sleep(ctx, pause):
			return view, fmt.Errorf("query agent %q: %w", id, context.Cause(ctx))
		}
	}
}

const (
	// busyTimeout is the longest time for which a query is repeated.
	busyTimeout = 30 * time.Second
	// maxQueryFailures is the number of failures in the worker after which a query is not repeated.
	maxQueryFailures = 5
)

// query sends a query to a worker and decodes the result into `out`. It repeats the query in two cases, for at most
// [busyTimeout]:
//   - Temporal refuses the query before a worker gets it, because many clients query the same agent.
//   - A worker fails while it replays the agent's history for the query, up to [maxQueryFailures] times.
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

// ask sends a query once. The result `refused` is true if Temporal refused the query before a worker got it; the caller may then
// repeat it. After any other error, such as no answer within [queryTimeout], `refused` is false.
func (c *Client) ask(ctx context.Context, id string, out any, name string, args ...any) (refused bool, err error) {
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, err := c.temporal.QueryWorkflow(asked, id, "", name, args...)
	if err == nil {
		return false, value.Get(out)
	}
	switch {
	case asked.Err() != nil:
		return false, err
	case outOfTime(err): // the SDK's next retry would come after the deadline: Temporal has refused each try, or does not answer
		return !c.temporalIsDown(ctx), err
	}
	return errors.As(err, new(*serviceerror.ResourceExhausted)), err
}

// Describe returns a snapshot of an agent. It needs fewer requests than [Client.Show], but the snapshot has no messages, calls,
// queue or sub-agents. If the agent has not ended, Describe needs a worker. If the agent has ended, the snapshot has only the ID,
// the agent's name, the task and the status; [Client.ShowRecorded] returns the rest.
func (c *Client) Describe(ctx context.Context, id string) (Snapshot, error) {
	return c.Agent(id).Describe(ctx)
}

// Show returns a full snapshot of an agent. It asks a worker. If the agent has ended, Show reads the agent's history instead and
// needs no worker.
func (c *Client) Show(ctx context.Context, id string) (Snapshot, error) {
	subAgents, snap, err := c.Agent(id).look(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if snap.Status.Ended() {
		return c.ShowRecorded(ctx, id)
	}
	for {
		page, err := c.page(ctx, id, snap.First+len(snap.Messages))
		if err != nil {
			return Snapshot{}, err
		}
		if len(snap.Messages) == 0 {
			snap.First = page.First
		}
		snap.Queue, snap.Count = page.Queue, page.Count
		snap.Messages = append(snap.Messages, page.Messages...)
		if snap.First+len(snap.Messages) >= page.Count || len(page.Messages) == 0 {
			break
		}
	}
	if err := c.query(ctx, id, &snap.Pending, protocol.PendingQuery); err != nil {
		return Snapshot{}, err
	}
	snap.Children, err = c.children(ctx, subAgents)
	return snap, err
}

// ShowRecorded returns a full snapshot of an agent from the Temporal history of its newest run. It needs no worker, even if the agent
// is running.
func (c *Client) ShowRecorded(ctx context.Context, id string) (Snapshot, error) {
	found, run, err := c.newest(ctx, id)
	if err != nil {
		return Snapshot{}, err
	}
	snap := snapshot(id, found.status, found.task, run)
	snap.Started = found.started
	s := run.State
	if s == nil {
		return snap, nil
	}
	snap.Messages, snap.First, snap.Pending, snap.Queue = s.Messages, s.Dropped, s.Open(), workflows.Waiting(s.Queue)
	snap.Children, err = c.children(ctx, s.Children)
	return snap, err
}

// read reads a run from its history, and computes the state of the agent at the end of the run: see [history.Read]. If
// `ref.Events` is not 0, read uses only that number of events.
func (c *Client) read(ctx context.Context, ref agent.RunRef) (*history.Run, error) {
	run, err := history.Read(ctx, c.temporal, ref, c.converter)
	return run, wrap("read", ref.ID, err)
}

// newest describes an agent and reads its newest run: see [Client.describe] and [Client.read].
func (c *Client) newest(ctx context.Context, id string) (description, *history.Run, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return found, nil, err
	}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	return found, run, err
}

// children returns the sub-agents of an agent for the field `Children` of a [Snapshot]. `subAgents` comes from the state of the
// agent. children asks Temporal for the status of each sub-agent, and leaves out those that have not been started. If Temporal has deleted
// a sub-agent, its status is what the agent knows of its end, or [Unknown].
func (c *Client) children(ctx context.Context, subAgents []agent.Child) ([]Child, error) {
	var children []Child
	for _, child := range subAgents {
		d, err := c.describe(ctx, child.ID)
		status := d.status
		switch {
		case err == nil:
		case !errors.Is(err, ErrNotFound):
			return nil, err
		case child.Phase == agent.ChildHasAnswered:
			status = Completed
		case child.Phase == agent.ChildHasFailed:
			status = Failed
		case child.Phase == agent.ChildRuns:
			status = Unknown
		default:
			continue // the sub-agent has not been started
		}
		children = append(children, Child{ID: child.ID, Agent: child.Agent, Status: status})
	}
	return children, nil
}

// description is what Temporal itself knows about the newest run of an agent. It can be read without a worker.
type description struct {
	// status is [Running] for an agent that has not ended.
	status Status
	agent  string
	// task is the beginning of the first message.
	task string
	// metadata is that of the start of the newest run.
	metadata agent.Metadata
	queue    string
	// retry is a failed call that is tried again; nil if there is none.
	retry *Retry
	// words is the partial text of the running model call; nil if there is none.
	words *PartialText
	runID string
	// started is the time at which the run started.
	started time.Time
	// events is the number of events in the history of the run.
	events int64
	// workflowTask is the workflow task that has not ended; nil if there is none. activities are those that have not ended.
	workflowTask *workflowpb.PendingWorkflowTaskInfo
	activities   []*workflowpb.PendingActivityInfo
	// version is the worker deployment version of the run. It is nil if the workers have no version.
	version  *workflowpb.WorkflowExecutionVersioningInfo
	priority temporal.Priority
}

// describe asks Temporal for the description of an agent. It needs no worker. The error wraps [ErrNotFound] if no workflow
// has the ID, or if the workflow with the ID is not an agent.
func (c *Client) describe(ctx context.Context, id string) (description, error) {
	found, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return description{}, wrap("describe", id, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != protocol.AgentWorkflow {
		return description{}, notFoundError(id, ": the workflow with this ID has the type "+info.GetType().GetName())
	}
	// Temporal returns the activities in another order each time.
	slices.SortFunc(found.GetPendingActivities(), func(a, b *workflowpb.PendingActivityInfo) int {
		return cmp.Compare(a.GetActivityId(), b.GetActivityId())
	})
	return description{
		status: closeStatus(info.GetStatus()), agent: memo[string](c, info.GetMemo(), protocol.MemoAgent),
		task: memo[string](c, info.GetMemo(), protocol.MemoTask), metadata: memo[agent.Metadata](c, info.GetMemo(), protocol.MemoMetadata), queue: info.GetTaskQueue(),
		retry: c.retry(found.GetPendingActivities()), words: c.partialText(found.GetPendingActivities()), runID: info.GetExecution().GetRunId(), started: info.GetStartTime().AsTime(),
		priority: temporal.Priority{
			PriorityKey: int(info.GetPriority().GetPriorityKey()), FairnessKey: info.GetPriority().GetFairnessKey(),
			FairnessWeight: info.GetPriority().GetFairnessWeight(),
		},
		version: info.GetVersioningInfo(), events: info.GetHistoryLength(), workflowTask: found.GetPendingWorkflowTask(), activities: found.GetPendingActivities(),
	}, nil
}

var closeStatuses = map[enumspb.WorkflowExecutionStatus]Status{
	enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:  Completed,
	enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:     Failed,
	enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:   Cancelled,
	enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: Terminated,
	enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:  TimedOut,
}

// closeStatus returns [Running] for a workflow that is running, is paused, or was continued as new.
func closeStatus(s enumspb.WorkflowExecutionStatus) Status { return cmp.Or(closeStatuses[s], Running) }

// memo returns the value of a field of a memo. It returns the zero value if the memo does not have the field, or if the field cannot be
// decoded.
func memo[V any](c *Client, m *commonpb.Memo, field string) V {
	var value, none V
	// FromPayload may send a request to a codec server, so it is not called for a missing field.
	if p := m.GetFields()[field]; p == nil || c.converter.FromPayload(p, &value) != nil {
		return none
	}
	return value
}
