package history

import (
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// complete prepares the events of a run for the SDK's replayer, which makes the agent's state from these events. It does not modify
// the given events. It returns nil if the run has no workflow task that can be replayed. If complete adds a workflow task that never
// ran, `unrecorded` is the number of events up to its start. If it adds none, `unrecorded` is 0.
//
// The changes depend on how the run ended:
//
//   - A run that completed, failed, was cancelled or continued as new needs no change.
//   - A run that was terminated or timed out has not handled the events after its last completed workflow task. complete adds
//     one more workflow task at the time of the run's end. In this task the workflow handles these events, as it would have done
//     if the run had continued.
//   - For an open run, complete adds no such task. The replay ends with the last completed task.
func complete(events []*historypb.HistoryEvent) (all []*historypb.HistoryEvent, unrecorded int) {
	last := events[len(events)-1]
	broken := breaksOff(last.GetEventType())
	if Closes(last.GetEventType()) && !broken {
		return events, 0
	}
	done := -1 // the newest workflow task that was completed
	for i, e := range slices.Backward(events) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			done = i
			break
		}
	}
	if done < 0 && !broken {
		return nil, 0
	}
	b := &builder{at: last.GetEventTime(), events: slices.Clone(events[:done+1])}
	for _, e := range events[done+1:] {
		if !ofTask(e.GetEventType()) && !breaksOff(e.GetEventType()) {
			b.add(proto.Clone(e).(*historypb.HistoryEvent))
		}
	}
	// The replayer runs a workflow task only if the history also has the start of a later task. So the last task that complete adds
	// has started and has not ended. The replayer does not compare the commands of the last task that it runs.
	b.task()
	if !broken {
		return b.events, 0
	}
	unrecorded = len(b.events)
	b.finish(redelivered(events[done+1:]))
	b.task()
	return b.events, unrecorded
}

// untold reports whether [workflows.Replay] has to tell the state of the reset that began the run, because the run may have ended before
// it told its state, or has not completed a workflow task of its own. An open run that has completed one waits in the state that the
// reset copied until something happens, so Replay must not tell it.
func untold(run *Run, events []*historypb.HistoryEvent) bool {
	if run.Closed != nil {
		return true
	}
	for _, e := range slices.Backward(events) {
		switch {
		case e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return false
		case isReset(e):
			return true
		}
	}
	return false
}

func isReset(e *historypb.HistoryEvent) bool {
	return e.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
}

func ofTask(t enumspb.EventType) bool {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		return true
	}
	return false
}

type builder struct {
	events []*historypb.HistoryEvent
	// at is the time of added events that have no time.
	at *timestamppb.Timestamp
}

func (b *builder) add(e *historypb.HistoryEvent) {
	e.EventId = int64(len(b.events) + 1)
	if e.EventTime == nil {
		e.EventTime = b.at
	}
	b.events = append(b.events, e)
}

func (b *builder) task() {
	b.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED})
	b.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED})
}

// finish completes the workflow task that was started last. After that, it adds an event for each of the given updates, which says
// that this task accepted the update. The order matters: the replayer looks for the updates of a task after its completion.
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

// redelivered selects from the given events the updates that Temporal delivered to the run again, after a reset.
func redelivered(events []*historypb.HistoryEvent) []*updatepb.Request {
	var requests []*updatepb.Request
	for _, e := range events {
		if a := e.GetWorkflowExecutionUpdateAdmittedEventAttributes(); a != nil {
			requests = append(requests, a.GetRequest())
		}
	}
	return requests
}

// updates returns the updates in the given events: first those that Temporal delivered to the run again, after a reset, and then
// those that the run accepted. The result may contain an update twice.
func updates(events []*historypb.HistoryEvent) []*updatepb.Request {
	requests := redelivered(events)
	for _, e := range events {
		if r := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest(); r != nil {
			requests = append(requests, r)
		}
	}
	return requests
}
