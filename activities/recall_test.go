package activities_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// past is a Temporal client with histories of runs, by run ID, and a list of runs, which may be incomplete.
type past struct {
	*contact
	listed []string
	events map[string][]*historypb.HistoryEvent
	// refusal is the answer to list requests. Nil means that they are answered.
	refusal error

	mu    sync.Mutex
	lists int
	pages map[string]int // how often each page was read, by run and page token
	// gate blocks each read of a page until it is closed. Nil does not block.
	gate chan struct{}
}

func (p *past) WorkflowService() workflowservice.WorkflowServiceClient { return pages{past: p} }

// pages is a workflow service that returns the histories of past in pages.
type pages struct {
	workflowservice.WorkflowServiceClient
	past *past
}

func (p *past) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	p.mu.Lock()
	p.lists++
	p.mu.Unlock()
	var list workflowservice.ListWorkflowExecutionsResponse
	for _, run := range p.listed {
		list.Executions = append(list.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{
			WorkflowId: "default-test-workflow-id", RunId: run,
		}})
	}
	return &list, p.refusal
}

func (p *past) GetWorkflowHistory(_ context.Context, _, runID string, _ bool, _ enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return &events{p.events[runID]}
}

// GetWorkflowExecutionHistory returns pages of two events.
func (s pages) GetWorkflowExecutionHistory(
	_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	p := s.past
	if p.gate != nil {
		<-p.gate
	}
	run, from := in.GetExecution().GetRunId(), 0
	if token := in.GetNextPageToken(); len(token) > 0 {
		from, _ = strconv.Atoi(string(token))
	}
	p.mu.Lock()
	p.pages[fmt.Sprint(run, " ", from)]++
	p.mu.Unlock()
	all, known := p.events[run]
	if !known {
		return nil, serviceerror.NewNotFound("no such run")
	}
	out := &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: all[from:min(from+2, len(all))]}}
	if from+2 < len(all) {
		out.NextPageToken = []byte(strconv.Itoa(from + 2))
	}
	return out, nil
}

type events struct{ left []*historypb.HistoryEvent }

func (e *events) HasNext() bool { return len(e.left) > 0 }

func (e *events) Next() (*historypb.HistoryEvent, error) {
	first := e.left[0]
	e.left = e.left[1:]
	return first, nil
}

// called returns the history of a run in which the activity with the given ID had the given result.
func called(t *testing.T, id string, result any) []*historypb.HistoryEvent {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(result)
	require.NoError(t, err)
	return []*historypb.HistoryEvent{
		{EventId: 1, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityId: id},
		}},
		{EventId: 2, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: 1, Result: payloads},
		}},
	}
}

// thisRun returns the ID of the run in which Temporal's test environment executes activities.
func thisRun(t *testing.T) string {
	s := newStage(t, llmtest.Script())
	var here activity.Info
	s.RegisterActivityWithOptions(func(ctx context.Context) error { here = activity.GetInfo(ctx); return nil }, activity.RegisterOptions{Name: "look"})
	_, err := s.ExecuteActivity("look")
	require.NoError(t, err)
	return here.WorkflowExecution.RunID
}

// A run recalls results only from earlier runs that it finds. It finds its base runs in its own history at once. It finds the
// others when Temporal's list contains the run itself.
func TestEarlierRunsAreFound(t *testing.T) {
	const (
		key  = "tool-1"
		base = "00000000-0000-0000-0000-00000000000a"
	)
	this := thisRun(t)
	wasReset := []*historypb.HistoryEvent{{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: base},
	}}}
	done := protocol.ToolResult{Content: "42", Recalled: true}
	for name, c := range map[string]struct {
		effect protocol.Recall
		listed []string
		events map[string][]*historypb.HistoryEvent
		want   protocol.ToolResult
		// refusal is the answer to list requests.
		refusal error
		fails   string
	}{
		"asked for anew, and Temporal refuses to list runs": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: "the first"}, refusal: serviceerror.NewResourceExhausted(0, "too many"),
			fails: protocol.Unavailable,
		},
		"asked for by this run": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this)}, listed: []string{this}, fails: protocol.Missing,
		},
		"asked for by this run, and a run that a base run was reset from is deleted": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: base}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{base: {{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
				WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: "deleted"},
			}}}}, fails: protocol.Missing,
		},
		"asked for by another run, without a result": {
			effect: protocol.Recall{Run: protocol.RunSuffix(base)}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset}, want: protocol.LostTool(),
		},
		"asked for by another run, which is not listed": {
			effect: protocol.Recall{Run: protocol.RunSuffix(base)}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset, base: called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, after a run that is not listed": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: "the first"}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset, base: called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, after a run that was reset from the same one": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: "the first"}, listed: []string{this, "another"},
			events: map[string][]*historypb.HistoryEvent{"another": called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, and the list is late": {
			effect: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: "the first"}, listed: []string{"the first"}, fails: protocol.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, llmtest.Script())
			a, err := activities.New(activities.Options{Temporal: &past{
				contact: new(contact), listed: c.listed, events: c.events, refusal: c.refusal, pages: map[string]int{},
			}})
			require.NoError(t, err)
			a.Register(s)
			s.named.key = key
			s.SetHeartbeatDetails(protocol.Progress{Sought: 4}) // no other worker has it
			got, err := s.call(protocol.CallToolInput{Recall: c.effect, Ref: "elsewhere", Arguments: `{}`})
			if c.fails != "" {
				require.Equal(t, c.fails, failure(t, err).Type())
				require.False(t, failure(t, err).NonRetryable())
				require.Greater(t, failure(t, err).NextRetryDelay(), 100*time.Millisecond)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// A worker reads the history of an earlier run once to make its index, even if many effects need the index at the same time. To
// read a result, it reads one page. Each effect finds its result by a link, so the runs are not listed.
func TestEarlierRunsAreReadOnce(t *testing.T) {
	const calls, run = 12, "the first"
	this := thisRun(t)
	p := &past{contact: new(contact), listed: []string{this, run}, events: map[string][]*historypb.HistoryEvent{}, pages: map[string]int{}}
	for i := range calls {
		for _, event := range called(t, fmt.Sprint("tool-", i), protocol.ToolResult{Content: fmt.Sprint("result ", i)}) {
			event.EventId += int64(2 * i)
			if done := event.GetActivityTaskCompletedEventAttributes(); done != nil {
				done.ScheduledEventId += int64(2 * i)
			}
			p.events[run] = append(p.events[run], event)
		}
	}
	p.events[run] = append(p.events[run], &historypb.HistoryEvent{EventId: 2*calls + 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED})
	synctest.Test(t, func(t *testing.T) {
		p.gate = make(chan struct{})
		// The cache has room for the index, but not for results.
		a, err := activities.New(activities.Options{Temporal: p, CacheBytes: 1 << 16})
		require.NoError(t, err)
		results := make([]string, calls)
		var all sync.WaitGroup
		for i := range calls {
			s := newStage(t, llmtest.Script())
			a.Register(s)
			s.named.key = agent.Key(fmt.Sprint("tool-", i))
			all.Go(func() {
				got, _ := s.call(protocol.CallToolInput{Recall: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: run}, Ref: "elsewhere", Arguments: `{}`})
				results[i] = got.Content
			})
		}
		synctest.Wait() // until all calls wait for the history
		close(p.gate)
		all.Wait()
		for i, got := range results {
			require.Equal(t, fmt.Sprint("result ", i), got)
		}
	})
	require.Zero(t, p.lists)
	read := 0
	for _, n := range p.pages {
		read += n
	}
	require.LessOrEqual(t, read, len(p.events[run])/2+1+calls, "each page once for the index, and once for its result")
}

// An effect follows the links from history to history before it lists runs: from the base run to the run that continued it as new,
// to the run from which the base run was reset, and to the run that this one resumed. If no linked run has the result, the runs are
// listed once.
func TestLinksAreFollowedBeforeRunsAreListed(t *testing.T) {
	const key, base = "tool-1", "run-base"
	this := thisRun(t)
	began := func() *record { return (&record{t: t}).resumes("") }
	continued := began().add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
		WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: "run-next"},
	}})
	for name, c := range map[string]struct {
		base  *record
		in    string // the run with the result
		lists int
	}{
		"the base run":                       {base: began(), in: base},
		"the run that continued it":          {base: continued, in: "run-next"},
		"the run that it was reset from":     {base: began().resets("run-before", began()), in: "run-before"},
		"the run that it resumed":            {base: (&record{t: t}).resumes("run-before"), in: "run-before"},
		"a run that no history refers to":    {base: began(), in: "run-between", lists: 1},
		"a deleted run is beside the linked": {base: began().resets("run-deleted", began()), in: "run-between", lists: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := &past{contact: new(contact), listed: []string{this, "run-between"}, pages: map[string]int{}, events: map[string][]*historypb.HistoryEvent{
				this: began().resets(base, began()).events, base: c.base.events, "run-between": began().events,
			}}
			p.events[c.in] = append(slices.Clone(p.events[c.in]), called(t, key, protocol.ToolResult{Content: "42"})...)
			s := newStage(t, llmtest.Script())
			a, err := activities.New(activities.Options{Temporal: p})
			require.NoError(t, err)
			a.Register(s)
			s.named.key = key
			for range 2 {
				got, err := s.call(protocol.CallToolInput{Recall: protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: base}, Ref: "elsewhere", Arguments: `{}`})
				require.NoError(t, err)
				require.Equal(t, protocol.ToolResult{Content: "42", Recalled: true}, got)
			}
			require.Equal(t, c.lists, p.lists)
		})
	}
}

// A recalled result is stored as the transcript shows it. read_result reads the rest from the earlier run that has the whole
// result.
func TestRecalledResultStaysInTheRunThatHasIt(t *testing.T) {
	const key = "tool-0123456789abcdef0123456789abcdef"
	this := thisRun(t)
	whole := protocol.ToolResult{Content: strings.Repeat("0123456789", 100_000)}
	// The second run recalled the result, too.
	between := whole.Shown(key, 0)
	between.Recalled = true
	p := &past{listed: []string{this, "second", "first"}, pages: map[string]int{}, events: map[string][]*historypb.HistoryEvent{
		"first": called(t, key, whole), "second": called(t, key, between), this: called(t, key, between),
	}}
	var s *stage
	effect := protocol.Recall{Run: protocol.RunSuffix(this), BaseRunID: "first"}
	for _, runs := range [][]string{{this, "first"}, {this, "second", "first"}} {
		p.listed = runs
		a, err := activities.New(activities.Options{Temporal: p}) // a new instance, because Activities caches the list of runs
		require.NoError(t, err)
		s = newStage(t, llmtest.Script())
		a.Register(s)
		s.named.key = key
		got, err := s.call(protocol.CallToolInput{
			Recall: effect, Ref: "elsewhere", Arguments: `{}`, ResultBytes: 1_000_000, ShownBytes: protocol.DefaultResultBytes,
		})
		require.NoError(t, err)
		require.Equal(t, between, got)
		require.LessOrEqual(t, len(got.Content), protocol.DefaultResultBytes)
	}
	// If the model asks for more than the transcript can show, the result of read_result is shorter.
	s.named.key = "tool-another"
	got, err := s.call(protocol.CallToolInput{
		Ref: agent.ReadResult, Arguments: `{"handle":"01234567","offset":500000,"length":1000000}`, ResultBytes: 20_000, ShownBytes: 20_000,
	})
	require.NoError(t, err)
	require.False(t, got.Kind.IsError(), got.Content)
	require.True(t, strings.HasPrefix(got.Content, "bytes 500000 to 519900 of 1000000:\n0123"), got.Content[:min(60, len(got.Content))])
	require.LessOrEqual(t, len(got.Content), 20_000)
	require.NotContains(t, got.Content, "left out")
}

// NewIn is empty in a recalled reply. The earlier run with the reply may also have the results of later effects.
func TestRecalledReplyIsNotNew(t *testing.T) {
	const base = "00000000-0000-0000-0000-00000000000a"
	s := newStage(t, llmtest.Script())
	made := protocol.ModelResult{Reply: llmtest.Say("hello"), NewIn: "another"}
	s.named.key = "model-1"
	a, err := activities.New(activities.Options{Temporal: &past{
		contact: new(contact), listed: []string{thisRun(t)}, pages: map[string]int{},
		events: map[string][]*historypb.HistoryEvent{base: called(t, "model-1", made)},
	}})
	require.NoError(t, err)
	s.doing = a
	s.open()
	got, err := run[protocol.ModelResult](s, protocol.CallModel, protocol.CallModelInput{Recall: protocol.Recall{BaseRunID: base}})
	require.NoError(t, err)
	require.Equal(t, "hello", got.Message.Content)
	require.True(t, got.Recalled)
	require.Empty(t, got.NewIn)
}
