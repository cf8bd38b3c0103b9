package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/recording"
	"github.com/reagent-dev/reagent/workflows"
)

// recorded returns the histories of agents that were recorded with a real server, by name: the version of the recorder, a slash, the
// agent's ID and, if the agent has several runs, "~" and a number.
func recorded(t *testing.T) map[string]recording.Recording {
	files, err := filepath.Glob("../workflows/testdata/histories/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]recording.Recording{}
	for _, file := range files {
		r, err := recording.Read(file)
		require.NoError(t, err)
		if r.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() == protocol.AgentWorkflow {
			all[filepath.Base(filepath.Dir(file))+"/"+strings.TrimSuffix(filepath.Base(file), ".json.gz")] = r
		}
	}
	return all
}

func read(t *testing.T, r recording.Recording, events []*historypb.HistoryEvent) *history.Run {
	t.Helper()
	run, err := history.Of(r.ID, r.RunID, events, nil)
	require.NoError(t, err, "%s after %d events", r.ID, len(events))
	return run
}

// The state at the end of a run has the answer and the usage that the workflow returned.
func TestStateEndsInTheResult(t *testing.T) {
	for name, r := range recorded(t) {
		run := read(t, r, r.History.GetEvents())
		require.NotNil(t, run.Closed, name)
		done := run.Closed.GetWorkflowExecutionCompletedEventAttributes()
		if done == nil {
			want := agent.Waiting // it continued as new, or a reset terminated it
			if run.Closed.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED {
				want = agent.Cancelled
			}
			require.Equal(t, want, run.State.Status(), name)
			continue
		}
		var result struct {
			Answer string      `json:"answer"`
			Usage  agent.Usage `json:"usage"`
		}
		require.NoError(t, json.Unmarshal(done.GetResult().GetPayloads()[0].GetData(), &result), name)
		require.Equal(t, agent.Completed, run.State.Status(), name)
		require.Equal(t, result.Answer, run.State.Answer(), name)
		require.Equal(t, result.Usage, run.State.Usage, name)
	}
}

// A history can be read after any event, for an open run and for a run that was terminated there. The transcript is the
// beginning of the whole transcript, and the state can be packed and opened again.
func TestHistoryIsReadAfterAnyEvent(t *testing.T) {
	for name, r := range recorded(t) {
		h := r.History
		whole := read(t, r, h.GetEvents())
		for n := 1; n < len(h.GetEvents()); n++ {
			if commanded(h.GetEvents()[n]) {
				continue // Temporal writes a task and its commands together
			}
			running := read(t, r, h.GetEvents()[:n])
			require.Nil(t, running.Closed)
			for _, run := range []*history.Run{running, read(t, r, terminated(h.GetEvents()[:n]))} {
				if run.State == nil || len(run.State.Messages) == 0 {
					continue
				}
				require.Equal(t, whole.State.Messages[:len(run.State.Messages)], timed(run, whole), "%s after %d events", name, n)
				packed, err := protocol.Pack(run.State)
				require.NoError(t, err)
				again, err := protocol.Open(r.ID, agent.Start{}, packed, 0)
				require.NoError(t, err)
				require.Equal(t, run.State.Next(), again.Next(), "%s after %d events", name, n)
			}
		}
	}
}

// A program that follows an agent may have read the end of a workflow task and not yet the marker for a wait that the task has recorded.
// The history can be read nevertheless, and the state has the wait.
func TestHistoryIsReadBeforeTheMarkerOfAWait(t *testing.T) {
	markers := 0
	for name, r := range recorded(t) {
		h := r.History
		for n, e := range h.GetEvents() {
			marker := e.GetMarkerRecordedEventAttributes()
			if marker.GetMarkerName() != workflows.WaitMarker || len(marker.GetDetails()["data"].GetPayloads()[0].GetData()) > 0 {
				continue // the marker of a reset has data
			}
			markers++
			task := n
			for h.GetEvents()[task-1].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				task--
			}
			run := read(t, r, h.GetEvents()[:task])
			require.NotEmpty(t, run.State.CallWaitsFor(), name)
		}
	}
	require.Positive(t, markers)
}

// commanded reports whether a command of a workflow task caused the event.
func commanded(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_CANCELED,
		enumspb.EVENT_TYPE_MARKER_RECORDED, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		return true
	}
	return history.Closes(e.GetEventType())
}

func terminated(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	last := events[len(events)-1]
	return append(slices.Clone(events), &historypb.HistoryEvent{
		EventId: last.GetEventId() + 1, EventTime: last.GetEventTime(), EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
	})
}

// timed returns the messages of a run, with the times that the same messages have in the complete run (whole). The times differ
// if the run was terminated, because it takes the last messages at the time of its end.
func timed(run, whole *history.Run) []agent.Message {
	messages := slices.Clone(run.State.Messages)
	for i := range messages {
		messages[i].Time = whole.State.Messages[i].Time
	}
	return messages
}

// A run that was terminated before its first workflow task has the state with which it would have begun.
func TestRunThatNeverBeganIsRead(t *testing.T) {
	task := recorded(t)["v0.1.0/task"]
	h := task.History
	require.Nil(t, read(t, task, h.GetEvents()[:2]).State)
	run := read(t, task, terminated(h.GetEvents()[:2]))
	require.Len(t, run.State.Queue, 1)
	require.Equal(t, agent.Running, run.State.Status())
}

// The state of a terminated run includes a result that arrived after the last workflow task.
func TestResultThatNoTaskSawIsRead(t *testing.T) {
	task := recorded(t)["v0.1.0/task"]
	h := task.History
	for i, e := range h.GetEvents() {
		if e.GetEventType() != enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
			continue
		}
		before := read(t, task, terminated(h.GetEvents()[:i]))
		if before.State.Status().Ended() {
			continue // the activity tells a hook of the end
		}
		after := read(t, task, terminated(h.GetEvents()[:i+1]))
		require.NotEqual(t, before.State.Next(), after.State.Next(), "event %d", e.GetEventId())
	}
}

// A history in which the agent did something else than this code would do cannot be read.
func TestForeignHistoryIsRefused(t *testing.T) {
	task := recorded(t)["v0.1.0/task"]
	h := task.History
	changed := proto.Clone(h).(*historypb.History)
	for _, e := range changed.GetEvents() {
		a := e.GetActivityTaskScheduledEventAttributes()
		if a != nil && strings.HasPrefix(a.GetActivityId(), "model-") {
			a.ActivityId = "model-00000000000000000000000000000000"
			break
		}
	}
	var unreadable *history.UnreadableError
	_, err := history.Of("task", "", changed.GetEvents(), nil)
	require.ErrorAs(t, err, &unreadable)
	_, err = history.Of("another", "", h.GetEvents(), nil)
	require.ErrorAs(t, err, &unreadable, "keys hold the agent's ID")
	_, err = history.Of("task", "", nil, nil)
	require.ErrorAs(t, err, &unreadable)
}

// If a codec cannot decode the result of an activity, the history cannot be read. The workflow does not treat this as a
// failed activity.
func TestPayloadThatCannotBeDecodedIsAnError(t *testing.T) {
	task := recorded(t)["v0.1.0/task"]
	h := task.History
	down := errors.New("the codec server does not answer")
	_, err := history.Of("task", "", h.GetEvents(), converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), &failing{after: 2, err: down}))
	require.ErrorIs(t, err, down)
}

// failing is a codec that fails after some payloads.
type failing struct {
	after int
	err   error
}

func (f *failing) Encode(p []*commonpb.Payload) ([]*commonpb.Payload, error) { return p, nil }

func (f *failing) Decode(p []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if f.after--; f.after < 0 {
		return nil, f.err
	}
	return p, nil
}

// A run that was terminated before it had read its state has the state of the run before it, and the messages that Temporal
// delivered to it.
func TestRunThatHadNotReadItsStateIsRead(t *testing.T) {
	rolled := recorded(t)["v0.1.0/rolled~1"]
	before := rolled.History.GetEvents()
	payload := func(value any) *commonpb.Payloads {
		p, err := converter.GetDefaultDataConverter().ToPayloads(value)
		require.NoError(t, err)
		return p
	}
	var start agent.Start
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(before[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &start))
	start.Message, start.From = nil, &agent.RunRef{ID: "rolled", RunID: "first"}
	begun := proto.Clone(before[0]).(*historypb.HistoryEvent)
	begun.GetWorkflowExecutionStartedEventAttributes().Input = payload(start)
	delivered := &historypb.HistoryEvent{
		EventId: 2, EventTime: before[0].GetEventTime(), EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAdmittedEventAttributes{
			WorkflowExecutionUpdateAdmittedEventAttributes: &historypb.WorkflowExecutionUpdateAdmittedEventAttributes{
				Request: &updatepb.Request{
					Meta:  &updatepb.Meta{UpdateId: "u"},
					Input: &updatepb.Input{Name: protocol.MessageUpdate, Args: payload(agent.QueuedMessage{ID: "late", Text: "and now?"})},
				},
			},
		},
	}
	c := stored{runs: map[string][]*historypb.HistoryEvent{
		"first": before, "second": terminated([]*historypb.HistoryEvent{begun, delivered}),
	}}
	run, err := history.Read(t.Context(), c, agent.RunRef{ID: "rolled", RunID: "second"}, nil)
	require.NoError(t, err)
	require.Equal(t, read(t, rolled, before).State.Messages, run.State.Messages)
	require.Len(t, run.State.Queue, 1)
	require.Equal(t, "and now?", run.State.Queue[0].Text)
}

// stored is a Temporal client that returns histories from a map, by run ID.
type stored struct {
	client.Client

	runs map[string][]*historypb.HistoryEvent
}

func (s stored) GetWorkflowHistory(_ context.Context, _, runID string, _ bool, _ enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return &iterator{s.runs[runID]}
}

type iterator struct{ events []*historypb.HistoryEvent }

func (i *iterator) HasNext() bool { return len(i.events) > 0 }

func (i *iterator) Next() (*historypb.HistoryEvent, error) {
	e := i.events[0]
	i.events = i.events[1:]
	return e, nil
}

// If a run resumes an agent, Previous is the run whose state this run has read, even if its client had seen an earlier run.
func TestRunBeforeAResumeIsTheOneThatWasRead(t *testing.T) {
	payloads := func(value any) *commonpb.Payloads {
		encoded, err := converter.GetDefaultDataConverter().ToPayloads(value)
		require.NoError(t, err)
		return encoded
	}
	events := []*historypb.HistoryEvent{
		{EventId: 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input: payloads(agent.Start{Agent: "x", From: &agent.RunRef{ID: "x", RunID: "seen", Resume: true}}),
			},
		}},
		{EventId: 2, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: protocol.ReadAgent}},
		}},
		{EventId: 3, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: 2, Result: payloads(protocol.Page{RunID: "newest"}),
			},
		}},
	}
	run, err := history.Of("x", "this", events[:2], nil)
	require.NoError(t, err)
	require.Equal(t, "seen", run.Previous.RunID)
	run, err = history.Of("x", "this", events, nil)
	require.NoError(t, err)
	require.Equal(t, "newest", run.Previous.RunID)
}
