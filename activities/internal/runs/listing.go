package runs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// listsPerSecond limits the list requests of one worker, so that up to 15 workers together send no more than the 30 requests a second
	// that Temporal Cloud allows a namespace. With more workers, Temporal may refuse requests, and the workers repeat them.
	listsPerSecond = 2
	maxListedIDs   = 100
)

// limitedLists is a Temporal client whose list requests wait for a rate limiter. It is safe for concurrent use.
type limitedLists struct {
	client.Client
	limiter *rate.Limiter
}

func newLimitedLists(c client.Client) limitedLists {
	return limitedLists{c, rate.NewLimiter(listsPerSecond, 1)}
}

// ListWorkflow sends the request when the limiter allows it. If Temporal refuses it because of too many requests, the SDK
// repeats it for 10 seconds, with growing delays.
func (l limitedLists) ListWorkflow(
	ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if err := l.limiter.Wait(ctx); err != nil {
		return nil, err
	}
	return l.Client.ListWorkflow(ctx, request)
}

// lister lists the runs of many workflow IDs with few requests: IDs that come while an earlier request is under way share the
// next request. It is safe for concurrent use.
type lister struct {
	temporal client.Client
	// turn holds a token while a request is under way.
	turn chan struct{}

	mu sync.Mutex
	// next is the request that waits for its turn. It is nil if there is none.
	next *listRequest
}

type listRequest struct {
	// ids must not change after the request was sent.
	ids  []string
	done chan struct{}
	runs map[string][]string
	err  error
}

func newLister(c client.Client) *lister {
	return &lister{temporal: c, turn: make(chan struct{}, 1)}
}

// runs returns the IDs of all runs of a workflow ID, newest first, as Temporal lists them at some time after the call of runs.
// The newest runs may be missing: see [history.Runs]. The callers share the slice, and must not modify it.
func (l *lister) runs(ctx context.Context, workflowID string) ([]string, error) {
	l.mu.Lock()
	r := l.next
	if r == nil || len(r.ids) == maxListedIDs {
		r = &listRequest{done: make(chan struct{})}
		l.next = r
		go l.send(context.WithoutCancel(ctx), r)
	}
	if !slices.Contains(r.ids, workflowID) {
		r.ids = append(r.ids, workflowID)
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.runs[workflowID], r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends a request when it is its turn. From then on, no further ID joins the request.
func (l *lister) send(ctx context.Context, r *listRequest) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	if l.next == r {
		l.next = nil
	}
	l.mu.Unlock()
	r.runs, r.err = history.RunsOf(ctx, l.temporal, r.ids)
	close(r.done)
}

// allRuns returns the IDs of all runs of the activity's workflow ID, newest first. Each worker lists the runs once for each run
// in which it executes activities. All callers share the slice, and must not modify it.
//
// Temporal updates its list of runs late, by seconds if the cluster is busy. As long as the list lacks the activity's own run,
// it may lack earlier runs, too, whose model calls and tool calls would be repeated. So allRuns returns a retryable error until
// the list has the activity's own run.
func (r *Reader) allRuns(ctx context.Context) ([]string, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	runs, err := flight.Do(ctx, &r.flights, "list\n"+here.RunID, func(ctx context.Context) ([]string, error) {
		if runs, ok := r.lists.GetIfPresent(here.RunID); ok { // inside flight.Do: an earlier Do may just have filled the cache
			return runs, nil
		}
		runs, err := r.lister.runs(ctx, here.ID)
		if err == nil && !slices.Contains(runs, here.RunID) {
			err = history.ErrNotListed
		}
		if err == nil { // the list stays complete, because no other run of the workflow ID starts while this run is open
			r.lists.Set(here.RunID, runs)
		}
		return runs, err
	})
	if err != nil && ctx.Err() == nil {
		return nil, listLater(ctx, err)
	}
	return runs, err
}

// earlier returns the IDs of the other runs of the activity's workflow ID, newest first: see [Reader.allRuns].
func (r *Reader) earlier(ctx context.Context) ([]string, error) {
	runs, err := r.allRuns(ctx)
	self := activity.GetInfo(ctx).WorkflowExecution.RunID
	return slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return run == self }), err
}

// newest returns the run whose state the run `self` of the activity's agent takes over. Usually this is `from`, the run that a resume
// was asked to continue: see [history.Newest].
func (r *Reader) newest(ctx context.Context, from agent.RunRef, self string) (agent.RunRef, error) {
	runs, err := r.allRuns(ctx)
	if err != nil {
		return from, err
	}
	from, err = history.NewestOf(ctx, r.temporal, runs, from, self)
	if errors.Is(err, history.ErrNotListed) {
		err = listLater(ctx, err)
	}
	return from, err
}

// listLater returns a retryable error with the text of the given error. An activity returns it if Temporal's list of runs does not
// contain all runs yet, or if Temporal refuses to list the runs. The retry delay doubles with each attempt, up to [maxListDelay].
func listLater(ctx context.Context, err error) error {
	delay := min(listDelay<<min(activity.GetInfo(ctx).Attempt-1, 10), maxListDelay)
	return temporal.NewApplicationErrorWithOptions(err.Error(), protocol.Unavailable,
		temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

const (
	// listDelay is the first retry delay in the errors that [listLater] returns.
	listDelay = 200 * time.Millisecond
	// maxListDelay is the longest of these delays.
	maxListDelay = 10 * time.Second
)

// maxListed limits the size of the cache of run lists: see [Reader.allRuns]. The size is the number of all cached run IDs
// plus the number of lists.
const maxListed = 200_000
