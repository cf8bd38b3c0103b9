package history

import (
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// complete returns events that the SDK's replayer takes to their end; nil where the run has had no workflow task
// that could be replayed.
//
// A run that ended itself is replayed as it is. A run that was terminated or ran out of time gets one more workflow
// task, at the time of its end, which takes what had arrived since the last one as the next task would have
// taken it. Events that an open run received after its last completed task are left to the workflow.
//
// The replayer runs a task only if another task has begun after it, and does not compare the commands of the last
// task that it runs. So a started task, which nothing comes of, stands at the end.
func complete(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	last := events[len(events)-1]
	broken := breaksOff(last.GetEventType())
	if Closes(last.GetEventType()) && !broken {
		return events
	}
	done := -1 // the newest workflow task that was completed
	for i, e := range slices.Backward(events) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			done = i
			break
		}
	}
	if done < 0 && !broken {
		return nil
	}
	b := &builder{at: last.GetEventTime(), events: slices.Clone(events[:done+1])}
	for _, e := range events[done+1:] {
		if !ofTask(e.GetEventType()) && !breaksOff(e.GetEventType()) {
			b.add(proto.Clone(e).(*historypb.HistoryEvent))
		}
	}
	b.task()
	if broken {
		b.finish(redelivered(events[done+1:]))
		b.task()
	}
	return b.events
}

// ofTask reports whether an event of that type tells of a workflow task that was not completed.
func ofTask(t enumspb.EventType) bool {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		return true
	}
	return false
}

// builder appends events to a history.
type builder struct {
	events []*historypb.HistoryEvent
	at     *timestamppb.Timestamp // the time of events that have none
}

func (b *builder) add(e *historypb.HistoryEvent) {
	e.EventId = int64(len(b.events) + 1)
	if e.EventTime == nil {
		e.EventTime = b.at
	}
	b.events = append(b.events, e)
}

// task appends a workflow task that has begun.
func (b *builder) task() {
	b.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED})
	b.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED})
}

// finish completes the task that has begun, and lets it accept updates: the replayer takes them from the events
// behind the task.
func (b *builder) finish(requests []*updatepb.Request) {
	scheduled := int64(len(b.events) - 1)
	b.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
			WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{},
		},
	})
	for _, r := range requests {
		id := r.GetMeta().GetUpdateId()
		b.add(&historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
				WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
					ProtocolInstanceId: id, AcceptedRequestMessageId: id + "/request",
					AcceptedRequestSequencingEventId: scheduled, AcceptedRequest: r,
				},
			},
		})
	}
}

// redelivered returns the updates that a reset delivered again.
func redelivered(events []*historypb.HistoryEvent) []*updatepb.Request {
	var requests []*updatepb.Request
	for _, e := range events {
		if a := e.GetWorkflowExecutionUpdateAdmittedEventAttributes(); a != nil {
			requests = append(requests, a.GetRequest())
		}
	}
	return requests
}

// updates returns all updates of a run that were delivered or accepted. One may stand there twice.
func updates(events []*historypb.HistoryEvent) []*updatepb.Request {
	requests := redelivered(events)
	for _, e := range events {
		if r := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest(); r != nil {
			requests = append(requests, r)
		}
	}
	return requests
}
