package activities_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// ended is a Temporal client with a list of closed runs, newest first. The runs closed in the order in which they started.
type ended struct{ *past }

func (e ended) DescribeWorkflowExecution(_ context.Context, _, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	at := timestamppb.New(time.Unix(int64(len(e.listed)-slices.Index(e.listed, run)), 0))
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{CloseTime: at}}, nil
}

// record builds the history of a run.
type record struct {
	t      *testing.T
	events []*historypb.HistoryEvent
}

func (r *record) add(e *historypb.HistoryEvent) *record {
	e.EventId, e.EventTime = int64(len(r.events)+1), timestamppb.Now()
	r.events = append(r.events, e)
	return r
}

func (r *record) payloads(value any) *commonpb.Payloads {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(r.t, err)
	return payloads
}

// resumes adds the start of a run that resumes the given run. An empty run means that the run is the agent's first.
func (r *record) resumes(run string) *record {
	start := agent.Start{Agent: "x", Incarnation: "one"}
	if run != "" {
		start.From = &agent.RunRef{ID: "x", RunID: run, Resume: true}
	}
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: r.payloads(start)},
	}})
}

// resets makes the record the history of a reset of the given run: it copies the run's history and adds the event of the reset.
func (r *record) resets(run string, of *record) *record {
	r.events = slices.Clone(of.events)
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{BaseRunId: run},
	}})
}

// reads adds a completed ReadAgent activity. The ID of the run that was read is empty if it is the run that the start names.
func (r *record) reads(run string) *record {
	r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityType: &commonpb.ActivityType{Name: protocol.ReadAgent},
		},
	}})
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
			ScheduledEventId: int64(len(r.events)), Result: r.payloads(protocol.Page{RunID: run, Pages: 1}),
		},
	}})
}

func (r *record) takes(message string) *record {
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
		WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
			AcceptedRequest: &updatepb.Request{Input: &updatepb.Input{
				Name: protocol.MessageUpdate, Args: r.payloads(agent.QueuedMessage{ID: message, Text: message}),
			}},
		},
	}})
}

// revokes adds an update that revokes a permission.
func (r *record) revokes(permission agent.Key) *record {
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
		WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
			AcceptedRequest: &updatepb.Request{Input: &updatepb.Input{Name: protocol.RevokeUpdate, Args: r.payloads(permission)}},
		},
	}})
}

// finds adds a completed search of other runs.
func (r *record) finds(found protocol.FoundMessages) *record {
	r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityType: &commonpb.ActivityType{Name: protocol.FindMessages},
		},
	}})
	return r.add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
			ScheduledEventId: int64(len(r.events)), Result: r.payloads(found),
		},
	}})
}

// find carries out a search of other runs. The run "this" makes the search, and `listed` are the others, newest first.
func find(t *testing.T, listed []string, runs map[string]*record) protocol.FoundMessages {
	t.Helper()
	this := thisRun(t)
	p := &past{contact: new(contact), listed: append([]string{this}, listed...), pages: map[string]int{}, events: map[string][]*historypb.HistoryEvent{}}
	for run, r := range runs {
		if run == "this" {
			run = this
		}
		p.events[run] = r.events
	}
	s := newStage(t, llmtest.Script())
	doing, err := activities.New(activities.Options{Temporal: ended{p}})
	require.NoError(t, err)
	doing.Register(s)
	value, err := s.ExecuteActivity(protocol.FindMessages, protocol.FindMessagesInput{})
	require.NoError(t, err)
	var out protocol.FoundMessages
	require.NoError(t, value.Get(&out))
	return out
}

// A search also returns what earlier searches have returned. If it repeated a revocation, the result would double with each reset.
func TestRevocationIsFoundOnce(t *testing.T) {
	first := (&record{t: t}).resumes("")
	runs, listed := map[string]*record{"run-0": first}, []string{"run-0"}
	for i := range 5 {
		run := (&record{t: t}).resets("run-0", first)
		if i == 0 {
			run.revokes("k")
		} else {
			run.finds(protocol.FoundMessages{Revoked: []agent.Key{"k"}})
		}
		name := fmt.Sprint("run-", i+1)
		runs[name], listed = run, append([]string{name}, listed...)
	}
	runs["this"] = (&record{t: t}).resets("run-0", first)
	require.Equal(t, []agent.Key{"k"}, find(t, listed, runs).Revoked)
}

// A run has only the messages of the run from which it read its state. This run may differ from the run that its start names,
// because a resume reads the run that ended last. A run that ended before it read a state counts as if it had read it.
func TestMessagesOfRunsWhoseStateWasNotReadAreFound(t *testing.T) {
	const a, b, c, d, f = "run-a", "run-b", "run-c", "run-d", "run-f"
	began := func() *record { return &record{t: t} }
	first := began().resumes("")
	resumed := began().resumes(b)
	for name, test := range map[string]struct {
		listed []string // newest first
		runs   map[string]*record
		want   []string
	}{
		"a resume that came late": {
			listed: []string{d, b, a},
			runs: map[string]*record{
				a: first, b: began().resets(a, first).takes("of b"), d: began().resets(a, first).takes("of d"),
				"this": began().resumes(b).reads(d),
			},
			want: []string{"of b"},
		},
		"before the run that is resumed had read a state": {
			listed: []string{f, d, c, b, a},
			runs: map[string]*record{
				a: first, b: began().resets(a, first).takes("of b"), c: resumed, d: began().resets(a, first).takes("of d"),
				f: began().resets(c, resumed), "this": began().resumes(f).reads(""),
			},
			want: []string{"of b"},
		},
		"a reset to before a state was read": {
			listed: []string{d, c, b, a},
			runs: map[string]*record{
				a: first, b: began().resets(a, first).takes("of b"), c: began().resumes(b).reads("").takes("of c"),
				d: began().resets(a, first).takes("of d"), "this": began().resets(c, resumed).reads(d),
			},
			want: []string{"of b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, m := range find(t, test.listed, test.runs).Messages {
				found = append(found, m.Text)
			}
			require.Equal(t, test.want, found)
		})
	}
}
