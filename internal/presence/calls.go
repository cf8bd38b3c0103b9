package presence

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	querypb "go.temporal.io/api/query/v1"
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
	// queries is the number of queries that are sent at once to use up open polls, and maxDrains is how often they are sent. queryTimeout is the
	// time after which a query counts as given to a suspended worker.
	queries, maxDrains = 10, 10
	queryTimeout       = 500 * time.Millisecond
	// metadataQuery is a query that every workflow answers. It is that of the Web UI.
	metadataQuery = "__temporal_workflow_metadata"
	// lookAgain is the time between two looks at the agents whose calls were returned.
	lookAgain = 250 * time.Millisecond
	// retryDelay is the time until the next attempt at a call that was returned. If Temporal has just read its timers, it takes a second.
	retryDelay = 20 * time.Millisecond
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

// affected is an agent that may have calls on lost workers.
type affected struct {
	run *commonpb.WorkflowExecution
	// scheduled has the IDs of the events that have scheduled the calls, by the IDs of the calls. It is nil until they are needed.
	scheduled map[string]int64
	// returned has the IDs of the calls of which an attempt was returned.
	returned map[string]bool
}

// returnCalls returns the calls of lost workers to Temporal, which gives them to others. It leaves out attempts that have ended, also if they
// end meanwhile: see [Token]. So it does no harm if several workers return the same calls.
//
// Polls of a suspended worker stay open for up to 70 seconds, and Temporal may give it the next attempts, too. So returnCalls looks at the same
// agents again until other workers have the calls, and uses up the polls for workflow tasks: see [Presence.drain].
func (p *Presence) returnCalls(ctx context.Context, lost []string) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	agents, attempts := p.agents(ctx), 0
	var draining sync.WaitGroup
	defer draining.Wait()
	for ctx.Err() == nil {
		again, n, err := p.returnCallsOf(ctx, agents, lost)
		attempts += n
		if err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "the calls of a lost worker could not be returned now; they are later, or go to another worker after the heartbeat timeout",
				"lost", lost, "error", err)
		}
		if len(again) == 0 {
			break
		}
		if n > 0 && n == attempts { // the first ones
			draining.Go(func() { p.drain(ctx, again[0].run) })
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
		agents = all(again)
	}
	if attempts > 0 {
		p.log.WarnContext(ctx, "a worker was lost, and its calls go to other workers", "lost", lost, "attempts", attempts)
	}
}

func all(agents []*affected) iter.Seq2[*affected, error] {
	return func(yield func(*affected, error) bool) {
		for _, a := range agents {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// agents yields the agents that may have calls.
func (p *Presence) agents(ctx context.Context) iter.Seq2[*affected, error] {
	return func(yield func(*affected, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: p.namespace, Query: p.query(p.searchable)}
		for {
			found, err := p.temporal.ListWorkflow(ctx, request)
			if err != nil {
				yield(nil, fmt.Errorf("list the agents: %w", err))
				return
			}
			for _, e := range found.GetExecutions() {
				if !yield(&affected{run: e.GetExecution(), returned: map[string]bool{}}, nil) {
					return
				}
			}
			if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// returnCallsOf returns the calls that agents have on lost workers, and their number. `again` has the agents that must be looked at again.
func (p *Presence) returnCallsOf(ctx context.Context, agents iter.Seq2[*affected, error], lost []string) (again []*affected, returned int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mu sync.Mutex
	for a, failed := range agents {
		if failed != nil {
			err = failed
			break
		}
		group.Go(func() error {
			found, n, err := p.returnCallsOfAgent(ctx, a, lost)
			mu.Lock()
			defer mu.Unlock()
			if returned += n; found {
				again = append(again, a)
			}
			return err
		})
	}
	return again, returned, errors.Join(err, group.Wait())
}

// returnCallsOfAgent returns the calls that one agent has on lost workers, and their number. `found` says that there are such calls, or that
// Temporal may give their next attempts to a lost worker, too.
func (p *Presence) returnCallsOfAgent(ctx context.Context, a *affected, lost []string) (found bool, returned int, err error) {
	calls, waiting, err := p.callsOf(ctx, a.run, lost)
	if err != nil || len(calls) == 0 {
		return waiting && a.scheduled != nil, 0, err
	}
	if a.scheduled == nil {
		if a.scheduled, err = p.scheduled(ctx, a.run, calls); err != nil {
			return false, 0, fmt.Errorf("read the history of the agent %s: %w", a.run.GetWorkflowId(), err)
		}
		p.forgetStickiness(ctx, a.run)
		// The calls are read again after the events: if a call has been made anew meanwhile, Temporal refuses the token of the earlier one.
		if calls, _, err = p.callsOf(ctx, a.run, lost); err != nil {
			return false, 0, err
		}
	}
	for _, c := range calls {
		id := c.GetActivityId()
		event, class := a.scheduled[id], protocol.CallReturned
		if event == 0 || !p.lost(c.GetLastWorkerIdentity()) {
			continue
		}
		if a.returned[id] {
			class = protocol.CallMissed
		}
		switch err := p.fail(ctx, Token(p.namespaceID, a.run, event, c), class); {
		case errors.As(err, new(*serviceerror.NotFound)): // the attempt has ended
		case err != nil:
			return true, returned, fmt.Errorf("return the call %s of the agent %s: %w", id, a.run.GetWorkflowId(), err)
		default:
			a.returned[id] = true
			returned++
		}
	}
	return true, returned, nil
}

// drain uses up the polls for workflow tasks that a suspended worker has left open. To do so, it sends queries whose answers nobody needs.
// Otherwise Temporal would give these polls the queries for transcripts, which would fail after two seconds, and workflow tasks, which others
// would get after ten. drain ends when all queries of a round are answered. If the worker is dead, this is the first round.
func (p *Presence) drain(ctx context.Context, run *commonpb.WorkflowExecution) {
	for range maxDrains {
		var asking sync.WaitGroup
		var unanswered atomic.Int32
		for range queries {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, queryTimeout)
				defer cancel()
				_, err := p.temporal.WorkflowService().QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
					Namespace: p.namespace, Execution: run, Query: &querypb.WorkflowQuery{QueryType: metadataQuery},
				})
				if err != nil && !errors.As(err, new(*serviceerror.QueryFailed)) && !errors.As(err, new(*serviceerror.NotFound)) {
					unanswered.Add(1)
				}
			})
		}
		if asking.Wait(); unanswered.Load() == 0 || ctx.Err() != nil {
			return
		}
	}
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

// callsOf returns the calls that one agent has on lost workers. `waiting` says that there are calls whose last attempt was on a lost worker, and
// whose next attempt Temporal has not given to a worker yet.
func (p *Presence) callsOf(ctx context.Context, run *commonpb.WorkflowExecution, lost []string) (calls []*workflowpb.PendingActivityInfo, waiting bool, err error) {
	found, err := p.temporal.DescribeWorkflowExecution(ctx, run.GetWorkflowId(), run.GetRunId())
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, false, nil // deleted meanwhile
	}
	if err != nil {
		return nil, false, fmt.Errorf("describe the agent %s: %w", run.GetWorkflowId(), err)
	}
	for _, c := range found.GetPendingActivities() {
		switch {
		case !slices.Contains(lost, c.GetLastWorkerIdentity()):
		case c.GetActivityOptions().GetHeartbeatTimeout().AsDuration() == 0: // such an activity has a time limit of its own
		case c.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED:
			waiting = true
		default:
			calls = append(calls, c)
		}
	}
	return calls, waiting, nil
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

// fail fails an attempt with an error of the given type, after which Temporal makes another one at once.
func (p *Presence) fail(ctx context.Context, token []byte, class string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lost := temporal.NewApplicationErrorWithOptions(protocol.TimeoutText(enumspb.TIMEOUT_TYPE_HEARTBEAT), class,
		temporal.ApplicationErrorOptions{NextRetryDelay: retryDelay})
	_, err := p.temporal.WorkflowService().RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
		Namespace: p.namespace, Identity: p.identity, TaskToken: token, Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(lost),
	})
	return err
}
