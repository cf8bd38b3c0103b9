package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/history"
)

// past has histories by run ID, and a list of runs that lags behind.
type past struct {
	client.Client
	events map[string][]*historypb.HistoryEvent
}

func (p past) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
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

// An activity that a reset has given out again knows no more than the end of the ID of the run that asked.
func TestRunThatAskedIsFound(t *testing.T) {
	const asked = "00000000-0000-0000-0000-00000000000a"
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	var here activity.Info
	env.RegisterActivityWithOptions(func(ctx context.Context) error { here = activity.GetInfo(ctx); return nil }, activity.RegisterOptions{Name: "look"})
	_, err := env.ExecuteActivity("look")
	require.NoError(t, err)

	p := past{events: map[string][]*historypb.HistoryEvent{
		here.WorkflowExecution.RunID: {{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: asked},
		}}},
	}}
	a, err := activities.New(activities.Options{Temporal: p})
	require.NoError(t, err)
	a.Register(env)
	call := func(run string) (history.ToolResult, error) {
		v, err := env.ExecuteActivity(activities.CallTool, activities.CallToolInput{
			Effect: activities.Effect{Run: run}, Ref: "elsewhere", Arguments: `{}`,
		})
		if err != nil {
			return history.ToolResult{}, err
		}
		var result history.ToolResult
		return result, v.Get(&result)
	}
	result, err := call(activities.RunSuffix(asked))
	require.NoError(t, err)
	require.Equal(t, history.ToolResult{Lost: true}, result, "it was asked for, and there is no result")

	payloads, err := converter.GetDefaultDataConverter().ToPayloads(history.ToolResult{Content: "42"})
	require.NoError(t, err)
	p.events[asked] = []*historypb.HistoryEvent{
		{EventId: 1, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityId: "2"},
		}},
		{EventId: 2, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: 1, Result: payloads},
		}},
	}
	result, err = call(activities.RunSuffix(asked)) // the environment numbers its activities: this is 2
	require.NoError(t, err)
	require.Equal(t, history.ToolResult{Content: "42", Recalled: true}, result)

	_, err = call(activities.RunSuffix(here.WorkflowExecution.RunID))
	require.Equal(t, activities.Missing, failure(t, err).Type(), "the run that asked is this one: nothing is looked for")
}
