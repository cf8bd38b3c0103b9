package history

import (
	"cmp"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/workflows"
)

// Actions counts the actions that Temporal Cloud bills for a run: see https://docs.temporal.io/cloud/actions. It does not count queries,
// refused updates and heartbeats with partial text, because the history does not show them.
type Actions struct {
	// Starts is 1 for each run, whether it began by a start, a continue-as-new or a reset. A sub-agent counts its own starts.
	Starts int `json:"starts"`
	// Activities counts activities, and Retries counts their further attempts.
	Activities int `json:"activities"`
	Retries    int `json:"retries"`
	// Heartbeats is an estimate, because the history does not show them: two for each heartbeat timeout. Only the last attempts of
	// activities that have completed, failed or been cancelled count.
	Heartbeats int `json:"heartbeats"`
	Timers     int `json:"timers"`
	Updates    int `json:"updates"`
	Signals    int `json:"signals"`
	// Attributes counts the changes of search attributes.
	Attributes int `json:"search_attributes"`
	// Waits counts the markers for waits. Temporal bills them as side effects.
	Waits int `json:"waits"`
}

// Total returns the sum of all counts.
func (a Actions) Total() int {
	return a.Starts + a.Activities + a.Retries + a.Heartbeats + a.Timers + a.Updates + a.Signals + a.Attributes + a.Waits
}

// Add returns the sums of the counts of `a` and `b`, for example of two runs of an agent. It changes neither.
func (a Actions) Add(b Actions) Actions {
	return Actions{
		Starts: a.Starts + b.Starts, Activities: a.Activities + b.Activities, Retries: a.Retries + b.Retries, Heartbeats: a.Heartbeats + b.Heartbeats,
		Timers: a.Timers + b.Timers, Updates: a.Updates + b.Updates, Signals: a.Signals + b.Signals, Attributes: a.Attributes + b.Attributes,
		Waits: a.Waits + b.Waits,
	}
}

// CountActions counts the actions in the events of a run. If the run began by a reset, its history begins with copied events of another
// run. CountActions does not count these events.
func CountActions(events []*historypb.HistoryEvent) Actions {
	a := Actions{Starts: 1}
	timeouts, started := map[int64]time.Duration{}, map[int64]*historypb.HistoryEvent{}
	for _, e := range events {
		if isReset(e) {
			a = Actions{Starts: 1} // the reset is an action, too
		}
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			a.Activities++
			timeouts[e.GetEventId()] = e.GetActivityTaskScheduledEventAttributes().GetHeartbeatTimeout().AsDuration()
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			attributes := e.GetActivityTaskStartedEventAttributes()
			a.Retries += int(attributes.GetAttempt()) - 1
			started[attributes.GetScheduledEventId()] = e
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
			scheduled := scheduledID(e)
			if begun, timeout := started[scheduled], timeouts[scheduled]; begun != nil && timeout > 0 {
				a.Heartbeats += int(e.GetEventTime().AsTime().Sub(begun.GetEventTime().AsTime()) / (timeout / 2))
			}
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			a.Timers++
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			a.Updates++
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
			a.Signals++
		case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			fields := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
			if _, version := fields["TemporalChangeVersion"]; !version || len(fields) > 1 { // a workflow version is not billed
				a.Attributes++
			}
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			if e.GetMarkerRecordedEventAttributes().GetMarkerName() == workflows.WaitMarker { // a workflow version is not billed
				a.Waits++
			}
		}
	}
	return a
}

func scheduledID(e *historypb.HistoryEvent) int64 {
	return cmp.Or(
		e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskFailedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(),
	)
}
