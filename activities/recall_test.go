package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/protocol"
)

// past has histories by run ID, and a list of runs that may lag behind.
type past struct {
	*contact
	listed []string
	events map[string][]*historypb.HistoryEvent
}

func (p past) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	var list workflowservice.ListWorkflowExecutionsResponse
	for _, run := range p.listed {
		list.Executions = append(list.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{RunId: run}})
	}
	return &list, nil
}

func (p past) GetWorkflowHistory(_ context.Context, _, runID string, _ bool, _ enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return &events{p.events[runID]}
}

type events struct{ left []*historypb.HistoryEvent }

func (e *events) HasNext() bool { return len(e.left) > 0 }

func (e *events) Next() (*historypb.HistoryEvent, error) {
	first := e.left[0]
	e.left = e.left[1:]
	return first, nil
}

// called is the history of a run in which the activity of that ID had the result.
func called(t *testing.T, id string, result protocol.ToolResult) []*historypb.HistoryEvent {
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

// What a run does depends on which earlier runs it finds: those of its own history at once, and the others when
// Temporal lists the run itself.
func TestEarlierRunsAreFound(t *testing.T) {
	const (
		key  = "tool-1"
		base = "00000000-0000-0000-0000-00000000000a"
	)
	s := newStage(t, llmtest.Script())
	var here activity.Info
	s.RegisterActivityWithOptions(func(ctx context.Context) error { here = activity.GetInfo(ctx); return nil }, activity.RegisterOptions{Name: "look"})
	_, err := s.ExecuteActivity("look")
	require.NoError(t, err)
	this := here.WorkflowExecution.RunID
	wasReset := []*historypb.HistoryEvent{{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: base},
	}}}
	done := protocol.ToolResult{Content: "42", Recalled: true}
	for name, c := range map[string]struct {
		effect protocol.Effect
		listed []string
		events map[string][]*historypb.HistoryEvent
		want   protocol.ToolResult
		fails  string
	}{
		"asked for by this run": {
			effect: protocol.Effect{Run: protocol.RunSuffix(this)}, listed: []string{this}, fails: protocol.Missing,
		},
		"asked for by another run, without a result": {
			effect: protocol.Effect{Run: protocol.RunSuffix(base)}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset}, want: protocol.ToolResult{Lost: true},
		},
		"asked for by another run, which is not listed": {
			effect: protocol.Effect{Run: protocol.RunSuffix(base)}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset, base: called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, after a run that is not listed": {
			effect: protocol.Effect{Run: protocol.RunSuffix(this), Base: "the first"}, listed: []string{this},
			events: map[string][]*historypb.HistoryEvent{this: wasReset, base: called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, after a run that was reset from the same one": {
			effect: protocol.Effect{Run: protocol.RunSuffix(this), Base: "the first"}, listed: []string{this, "another"},
			events: map[string][]*historypb.HistoryEvent{"another": called(t, key, protocol.ToolResult{Content: "42"})}, want: done,
		},
		"asked for anew, and the list is late": {
			effect: protocol.Effect{Run: protocol.RunSuffix(this), Base: "the first"}, listed: []string{"the first"}, fails: protocol.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, llmtest.Script())
			a, err := activities.New(activities.Options{Temporal: past{contact: new(contact), listed: c.listed, events: c.events}})
			require.NoError(t, err)
			a.Register(s)
			s.named.key = key
			s.SetHeartbeatDetails(activities.Progress{Sought: 4}) // no other worker has it
			got, err := s.call(protocol.CallToolInput{Effect: c.effect, Ref: "elsewhere", Arguments: `{}`})
			if c.fails != "" {
				require.Equal(t, c.fails, failure(t, err).Type())
				require.False(t, failure(t, err).NonRetryable())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
