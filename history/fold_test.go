package history_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// recorded returns the histories that were recorded from a real server, by the version that
// did and the agent's ID with what tells its runs apart: see [idOf].
func recorded(t *testing.T) map[string]*historypb.History {
	files, err := filepath.Glob("../workflows/testdata/histories/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]*historypb.History{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		var h historypb.History
		require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, &h))
		all[filepath.Base(filepath.Dir(file))+"/"+strings.TrimSuffix(filepath.Base(file), ".json.gz")] = &h
	}
	return all
}

// idOf is the ID of the agent whose history has that name.
func idOf(name string) string {
	id, _, _ := strings.Cut(filepath.Base(name), "~")
	return id
}

func events(all []*historypb.HistoryEvent) history.Events {
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// The fold of a run that completed ends in the answer that the workflow returned.
func TestFoldEndsInTheResult(t *testing.T) {
	for id, h := range recorded(t) {
		run, err := history.Fold(idOf(id), events(h.GetEvents()), nil)
		require.NoError(t, err, id)
		require.NotNil(t, run.Closed, id)
		done := run.Closed.GetWorkflowExecutionCompletedEventAttributes()
		if done == nil {
			want := agent.Cancelled
			if run.Closed.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
				want = agent.Waiting
			}
			require.Equal(t, want, run.State.Status(), id)
			continue
		}
		var result struct {
			Answer string      `json:"answer"`
			Usage  agent.Usage `json:"usage"`
		}
		require.NoError(t, json.Unmarshal(done.GetResult().GetPayloads()[0].GetData(), &result), id)
		require.Equal(t, agent.Completed, run.State.Status(), id)
		require.Equal(t, result.Answer, run.State.Answer(), id)
		require.Equal(t, result.Usage, run.State.Usage, id)
	}
}

// A run can be cut off at any event, and its state is that of the agent at that
// point: its transcript is the beginning of the whole one, and every call has at
// most one result.
func TestFoldOfAnyBeginning(t *testing.T) {
	for id, h := range recorded(t) {
		whole, err := history.Fold(idOf(id), events(h.GetEvents()), nil)
		require.NoError(t, err)
		for n := range h.GetEvents() {
			run, err := history.Fold(idOf(id), events(h.GetEvents()[:n]), nil)
			require.NoError(t, err, "%s after %d events", id, n)
			if run.State == nil || len(run.State.Messages) == 0 {
				continue
			}
			require.Equal(t, whole.State.Messages[:len(run.State.Messages)], run.State.Messages, "%s after %d events", id, n)

			packed, err := protocol.Pack(run.State)
			require.NoError(t, err)
			again, err := protocol.Open(idOf(id), agent.Start{}, packed, 0)
			require.NoError(t, err)
			require.Equal(t, run.State.Next(), again.Next(), "%s after %d events", id, n)
		}
	}
}

// A history that is not what the agent would have done is refused.
func TestFoldRefusesWhatDoesNotFit(t *testing.T) {
	h := recorded(t)["v0.1/task"]
	changed := proto.Clone(h).(*historypb.History)
	for _, e := range changed.GetEvents() {
		a := e.GetActivityTaskScheduledEventAttributes()
		if a != nil && strings.HasPrefix(a.GetActivityId(), "model-") {
			a.ActivityId = "model-00000000000000000000000000000000"
			break
		}
	}
	_, err := history.Fold("task", events(changed.GetEvents()), nil)
	var mismatch *history.MismatchError
	require.ErrorAs(t, err, &mismatch)

	_, err = history.Fold("another", events(h.GetEvents()), nil)
	require.ErrorAs(t, err, &mismatch, "keys hold the agent's ID")
}

// A task whose worker died before it was completed leaves no trace.
func TestFailedWorkflowTaskLeavesNoTrace(t *testing.T) {
	h := recorded(t)["v0.1/task"]
	want, err := history.Fold("task", events(h.GetEvents()), nil)
	require.NoError(t, err)
	var disturbed []*historypb.HistoryEvent
	for _, e := range h.GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			disturbed = append(disturbed,
				&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, EventTime: e.GetEventTime()},
				&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, EventTime: e.GetEventTime()})
		}
		disturbed = append(disturbed, e)
	}
	got, err := history.Fold("task", events(disturbed), nil)
	require.NoError(t, err)
	require.Len(t, got.State.Messages, len(want.State.Messages))
	for i, m := range got.State.Messages {
		require.Equal(t, want.State.Messages[i].Message, m.Message)
	}
	require.Equal(t, llm.Assistant, got.State.Messages[len(got.State.Messages)-1].Role)
}
