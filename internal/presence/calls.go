package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// atOnce limits the agents at which a worker looks at the same time.
	atOnce = 16
	// searchTimeout limits one search for the calls of lost workers.
	searchTimeout = time.Minute
	// pageEvents is the number of events that are read at once. The beginning of a call that is running is among the last ones.
	pageEvents = 50
)

// query selects the agents that may have calls. With search attributes, these are the agents in the middle of a turn.
func (p *Presence) query(searchable bool) string {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND TaskQueue = %s", protocol.AgentWorkflow, quote(p.taskQueue))
	if status := protocol.AttributeStatus.GetName(); searchable {
		query += fmt.Sprintf(" AND (%s = '%s' OR %s IS NULL)", status, agent.Running, status)
	}
	return query
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// returnCalls returns the calls of lost workers to Temporal, which gives them to others. It leaves out attempts that have ended, also if they
// end meanwhile: see [Token]. So it does no harm if several workers return the same calls.
func (p *Presence) returnCalls(ctx context.Context, lost []string) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	var returned atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	err := p.agents(ctx, func(run *commonpb.WorkflowExecution) {
		group.Go(func() error {
			n, err := p.returnCallsOf(ctx, run, lost)
			returned.Add(int64(n))
			return err
		})
	})
	if err = errors.Join(err, group.Wait()); err != nil && ctx.Err() == nil {
		p.log.WarnContext(ctx, "the calls of a lost worker could not be returned now; they are later, or go to another worker after the heartbeat timeout", "lost", lost, "error", err)
	}
	if n := returned.Load(); n > 0 {
		p.log.WarnContext(ctx, "a worker was lost, and its calls go to other workers", "lost", lost, "calls", n)
	}
}

// agents calls `each` with each agent that may have calls.
func (p *Presence) agents(ctx context.Context, each func(*commonpb.WorkflowExecution)) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: p.namespace, Query: p.query(p.searchable)}
	for {
		found, err := p.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return fmt.Errorf("list the agents: %w", err)
		}
		for _, e := range found.GetExecutions() {
			each(e.GetExecution())
		}
		if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
}

// returnCallsOf returns the calls that one agent has on lost workers, and their number.
func (p *Presence) returnCallsOf(ctx context.Context, run *commonpb.WorkflowExecution, lost []string) (n int, err error) {
	calls, err := p.callsOf(ctx, run, lost)
	if err != nil {
		return 0, err
	}
	if len(calls) == 0 {
		return 0, nil
	}
	scheduled, err := p.scheduled(ctx, run, calls)
	if err != nil {
		return 0, fmt.Errorf("read the history of the agent %s: %w", run.GetWorkflowId(), err)
	}
	// The calls are read again after the events: if a call has been made anew meanwhile, Temporal refuses the token of the earlier one.
	if calls, err = p.callsOf(ctx, run, lost); err != nil {
		return 0, err
	}
	p.forgetStickiness(ctx, run)
	for _, c := range calls {
		event := scheduled[c.GetActivityId()]
		if event == 0 || !p.lost(c.GetLastWorkerIdentity()) {
			continue
		}
		switch err := p.fail(ctx, Token(p.namespaceID, run, event, c)); {
		case errors.As(err, new(*serviceerror.NotFound)): // the attempt has ended
		case err != nil:
			return n, fmt.Errorf("return the call %s of the agent %s: %w", c.GetActivityId(), run.GetWorkflowId(), err)
		default:
			n++
		}
	}
	return n, nil
}

// forgetStickiness lets any worker take the tasks and queries of an agent. Otherwise Temporal offers them to the lost worker first, for a
// second, and whoever makes a call anew has to ask the agent for its transcript.
func (p *Presence) forgetStickiness(ctx context.Context, run *commonpb.WorkflowExecution) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := p.temporal.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{Namespace: p.namespace, Execution: run})
	if err != nil {
		p.log.DebugContext(ctx, "the agent's tasks wait for the lost worker for a second", "id", run.GetWorkflowId(), "error", err)
	}
}

// callsOf returns the calls that one agent has on lost workers.
func (p *Presence) callsOf(ctx context.Context, run *commonpb.WorkflowExecution, lost []string) ([]*workflowpb.PendingActivityInfo, error) {
	found, err := p.temporal.DescribeWorkflowExecution(ctx, run.GetWorkflowId(), run.GetRunId())
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil // deleted meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("describe the agent %s: %w", run.GetWorkflowId(), err)
	}
	return slices.DeleteFunc(found.GetPendingActivities(), func(c *workflowpb.PendingActivityInfo) bool {
		return c.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || !slices.Contains(lost, c.GetLastWorkerIdentity()) ||
			c.GetActivityOptions().GetHeartbeatTimeout().AsDuration() == 0 // such an activity has a time limit of its own
	}), nil
}

// scheduled returns the IDs of the events that have scheduled the calls, by the IDs of the calls.
func (p *Presence) scheduled(ctx context.Context, run *commonpb.WorkflowExecution, calls []*workflowpb.PendingActivityInfo) (map[string]int64, error) {
	events := map[string]int64{}
	for _, c := range calls {
		events[c.GetActivityId()] = 0
	}
	missing := len(events)
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: p.namespace, Execution: run, MaximumPageSize: pageEvents}
	for {
		found, err := p.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, event := range found.GetHistory().GetEvents() {
			id := event.GetActivityTaskScheduledEventAttributes().GetActivityId()
			if known, ours := events[id]; ours && known == 0 {
				events[id] = event.GetEventId()
				missing--
			}
		}
		if request.NextPageToken = found.GetNextPageToken(); missing == 0 || len(request.NextPageToken) == 0 {
			return events, nil
		}
	}
}

// fail fails an attempt with the error after which Temporal makes another one at once.
func (p *Presence) fail(ctx context.Context, token []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lost := temporal.NewApplicationError(protocol.TimeoutText(enumspb.TIMEOUT_TYPE_HEARTBEAT), protocol.CallReturned)
	_, err := p.temporal.WorkflowService().RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
		Namespace: p.namespace, Identity: p.identity, TaskToken: token, Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(lost),
	})
	return err
}
