package client_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/recording"
	"github.com/reagent-dev/reagent/llm"
)

// growing is a Temporal client with one agent. The agent's history grows while it is read by a long poll, by a few events in each
// second. Other methods panic: in particular, there are no queries.
type growing struct {
	sdk.Client
	runID  string
	events []*historypb.HistoryEvent
	random *rand.Rand
	// ended is the status from the end of the history on.
	ended enumspb.WorkflowExecutionStatus
	// written is the number of events that were written so far. described counts the descriptions.
	written, described atomic.Int64
	// slow says that each event comes alone.
	slow bool
	// deleted says that the history can be read only by a long poll.
	deleted bool
}

func (g *growing) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	g.described.Add(1)
	status := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if g.written.Load() == int64(len(g.events)) {
		status = g.ended
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: protocol.AgentWorkflow}, Status: status,
		Execution: &commonpb.WorkflowExecution{RunId: g.runID}, HistoryLength: g.written.Load(),
	}}, nil
}

func (g *growing) CheckHealth(context.Context, *sdk.CheckHealthRequest) (*sdk.CheckHealthResponse, error) {
	return &sdk.CheckHealthResponse{}, nil
}

func (g *growing) GetWorkflowHistory(ctx context.Context, _, _ string, poll bool, _ enumspb.HistoryEventFilterType) sdk.HistoryEventIterator {
	return &iterator{growing: g, ctx: ctx, poll: poll}
}

type iterator struct {
	*growing
	ctx  context.Context
	poll bool
	next int
}

func (i *iterator) HasNext() bool { return i.deleted && !i.poll || i.next < len(i.events) }

func (i *iterator) Next() (*historypb.HistoryEvent, error) {
	if i.deleted && !i.poll {
		return nil, serviceerror.NewNotFound("deleted")
	}
	if written := int(i.written.Load()); i.poll && i.next == written {
		select {
		case <-time.After(time.Second):
		case <-i.ctx.Done():
			return nil, i.ctx.Err()
		}
		written = min(len(i.events), written+1+i.random.IntN(4))
		for written < len(i.events) && ofTask(i.events[written]) {
			written++ // Temporal writes all events of a workflow task at once
		}
		i.written.Store(int64(written))
	}
	event := i.events[i.next]
	if i.next++; i.next%10 == 0 && !ofTask(event) || i.slow {
		time.Sleep(50 * time.Millisecond) // of the bubble's clock: a request for the next page
	}
	return event, nil
}

// ofTask reports whether Temporal writes the event together with the end of the workflow task before it.
func ofTask(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return false
	}
	return true
}

// recorded returns a client with the agent of a recorded history, and the ID of the agent.
func recorded(t *testing.T, file string) (*growing, string) {
	r, err := recording.Read(file)
	require.NoError(t, err)
	g := &growing{
		runID: r.RunID, events: r.History.GetEvents(), random: rand.New(rand.NewPCG(1, 0)), ended: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	}
	if g.events[len(g.events)-1].GetWorkflowExecutionCanceledEventAttributes() != nil {
		g.ended = enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
	}
	return g, r.ID
}

// A program that watches an agent gets each message once and in order, whatever events Temporal sends at a time. It sends no query.
func TestWatchYieldsEachMessageOnce(t *testing.T) {
	files, err := filepath.Glob("../workflows/testdata/histories/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		temporal, id := recorded(t, file)
		if temporal.events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() != protocol.AgentWorkflow {
			continue
		}
		if history.Closes(temporal.events[len(temporal.events)-1].GetEventType()) && temporal.events[len(temporal.events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes() == nil {
			t.Run(file, func(t *testing.T) { watchWhole(t, temporal, id) })
		}
	}
}

func watchWhole(t *testing.T, temporal *growing, id string) {
	whole, err := history.Of(id, temporal.runID, temporal.events, nil)
	require.NoError(t, err)
	if whole.State == nil || whole.State.Dropped > 0 {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		for _, from := range []int{0, 1, whole.State.Count()} {
			temporal.written.Store(0)
			if from > 0 {
				temporal.written.Store(int64(len(temporal.events) - 1))
			}
			var got []agent.Message
			var last client.Progress
			for p, err := range client.New(temporal, "").Watch(t.Context(), id, from) {
				require.NoError(t, err)
				require.False(t, p.Rewound, "a run that has no state yet was not reset")
				if last = p; p.Message != nil {
					require.Equal(t, from+len(got), p.Index)
					got = append(got, *p.Message)
				}
			}
			require.Equal(t, whole.State.Messages[from:], append([]agent.Message{}, got...))
			require.Equal(t, map[enumspb.WorkflowExecutionStatus]client.Status{
				enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: client.Completed, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED: client.Cancelled,
			}[temporal.ended], last.Status)
			require.Equal(t, whole.State.Answer(), last.Snapshot.Answer)
			require.Equal(t, last.Status, last.Snapshot.Status)
		}
	})
}

// While an agent waits for a message, a program that watches it costs nothing but one long poll and a health check a minute.
func TestWatchingAnIdleAgentCostsNothing(t *testing.T) {
	temporal, id := recorded(t, "../workflows/testdata/histories/v0.1.0/chat.json.gz")
	for i, e := range temporal.events {
		if run, err := history.Of(id, temporal.runID, temporal.events[:i+1], nil); err == nil && run.State != nil && run.State.Status() == agent.Waiting && len(run.State.Queue) == 0 && e.GetWorkflowTaskCompletedEventAttributes() != nil {
			temporal.events = temporal.events[:i+1] // up to the first answer
			break
		}
	}
	temporal.ended = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		statuses, messages := 0, 0
		var described int64
		for p, err := range client.New(&endless{temporal}, "").Watch(ctx, id, 0) {
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			if p.Message != nil {
				messages++
			}
			if p.Status == client.Waiting {
				require.Equal(t, 2, messages, "the question and the answer come before the status")
				statuses++
				described = temporal.described.Load()
			}
		}
		require.Equal(t, 1, statuses)
		require.Equal(t, described, temporal.described.Load())
	})
}

// endless is a Temporal client whose long polls never end.
type endless struct{ *growing }

func (e *endless) GetWorkflowHistory(ctx context.Context, id, run string, poll bool, filter enumspb.HistoryEventFilterType) sdk.HistoryEventIterator {
	return &open{e.growing.GetWorkflowHistory(ctx, id, run, poll, filter).(*iterator)}
}

type open struct{ *iterator }

func (o *open) HasNext() bool { return true }

func (o *open) Next() (*historypb.HistoryEvent, error) {
	if o.iterator.HasNext() {
		return o.iterator.Next()
	}
	<-o.ctx.Done()
	return nil, o.ctx.Err()
}

// A message is seen when the agent has received it, even if the events of one workflow task come one by one.
func TestMessageIsSeenAlthoughItsEventsComeSlowly(t *testing.T) {
	temporal, id := recorded(t, "../workflows/testdata/histories/v0.1.0/chat.json.gz")
	accepted := slices.IndexFunc(temporal.events, func(e *historypb.HistoryEvent) bool {
		return e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil
	})
	scheduled := slices.IndexFunc(temporal.events[accepted:], func(e *historypb.HistoryEvent) bool { return e.GetActivityTaskScheduledEventAttributes() != nil })
	temporal.events, temporal.ended = temporal.events[:accepted+scheduled+1], enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	temporal.slow = true
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var last agent.Message
		var status client.Status
		for p := range client.New(&endless{temporal}, "").Watch(ctx, id, 0) {
			if p.Message != nil {
				last = *p.Message
			}
			if p.Status != "" {
				status = p.Status
			}
		}
		require.Equal(t, llm.User, last.Role)
		require.Equal(t, client.Running, status)
	})
}

// An agent may end before it has a state. A program that watches it is told so.
func TestAgentThatEndsBeforeItHasAStateIsNotWatchedForEver(t *testing.T) {
	temporal, id := recorded(t, "../workflows/testdata/histories/v0.1.0/task.json.gz")
	closed := temporal.events[len(temporal.events)-1]
	closed.EventId = 2
	temporal.events, temporal.deleted, temporal.ended = append(temporal.events[:1:1], closed), true, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	synctest.Test(t, func(t *testing.T) {
		var last error
		for _, err := range client.New(temporal, "").Watch(t.Context(), id, 0) {
			last = err
		}
		require.ErrorIs(t, last, client.ErrNotFound)
	})
}
