package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/history"
)

// An activity counts with its further attempts, and with the heartbeats that its last attempt must have sent. Events that a reset has
// copied from another run do not count. A marker for a wait counts, and a workflow version does not.
func TestActionsOfAHistory(t *testing.T) {
	at := func(second int, e *historypb.HistoryEvent) *historypb.HistoryEvent {
		e.EventTime = timestamppb.New(time.Unix(int64(second), 0))
		return e
	}
	marker := func(id int64, name string) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventId: id, EventType: enumspb.EVENT_TYPE_MARKER_RECORDED, Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{MarkerName: name}}}
	}
	events := []*historypb.HistoryEvent{
		{EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED},
		{EventId: 2, EventType: enumspb.EVENT_TYPE_TIMER_STARTED},
		at(0, &historypb.HistoryEvent{EventId: 3, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{HeartbeatTimeout: durationpb.New(3 * time.Second)}}}),
		at(1, &historypb.HistoryEvent{EventId: 4, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: 3, Attempt: 3}}}),
		at(9, &historypb.HistoryEvent{EventId: 5, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: 3, StartedEventId: 4}}}),
		{EventId: 6, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED},
		marker(7, "SideEffect"), marker(8, "Version"),
	}
	counted := history.CountActions(events)
	require.Equal(t, history.Actions{Starts: 1, Activities: 1, Retries: 2, Heartbeats: 5, Timers: 1, Updates: 1, Waits: 1}, counted)
	require.Equal(t, 12, counted.Total())
	events = append(events, &historypb.HistoryEvent{
		EventId: 9, EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW}},
	}, &historypb.HistoryEvent{EventId: 10, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED})
	require.Equal(t, history.Actions{Starts: 1, Signals: 1}, history.CountActions(events))
}
