package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/testkit/statelog"
	"github.com/reagent-dev/reagent/workflows"
)

// requireSameStates replays the histories of agents. It asserts that each replay has the same states as the live workflow
// had, after each workflow task. The parameter dir is the folder in which the worker processes recorded the live states: see
// package statelog. The parameter ids has the IDs of the agents.
func requireSameStates(t testing.TB, c sdk.Client, dir string, ids []string) {
	t.Helper()
	live, err := readStates(filepath.Join(dir, statelog.FileName))
	require.NoError(t, err)
	compared := compareStates(t, c, live, ids, nil)
	require.Positive(t, compared.tasks, "no workflow task was compared")
}

// compared counts what [compareStates] has compared: the runs, and the workflow tasks with the same state.
type compared struct {
	runs, tasks int
	// unseen counts the completed workflow tasks in which the replay recorded no state. See [statelog.Interceptor] for the times
	// at which states are recorded. An example is a task in which the workflow waits for its sub-agents to be cancelled.
	unseen int
}

// compareStates replays runs of agents and compares the states of each replay with the states of the live workflow. It fails the
// test if they differ. The parameter live has the recorded states of each live workflow. The parameter ids has the IDs of the
// agents to compare. The parameter kept has the histories of deleted runs, by run ID.
func compareStates(t testing.TB, c sdk.Client, live map[runKey][]statelog.Entry, ids []string, kept map[string]*historypb.History) compared {
	t.Helper()
	var sum compared
	r := newReplayer(t)
	var problems []string
	for key, entries := range live {
		if !slices.Contains(ids, key.workflow) {
			continue
		}
		h := kept[key.run]
		if h == nil {
			var err error
			h, err = historyOf(t.Context(), c, key.workflow, key.run)
			require.NoError(t, err, "history of %s, run %s", key.workflow, key.run)
		}
		replayed, err := r.states(key.workflow, key.run, h)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s, run %s: replay: %v", key.workflow, key.run, err))
			continue
		}
		tasks, unseen, different := differences(h, entries, replayed)
		sum.runs++
		sum.tasks += tasks
		sum.unseen += unseen
		for _, text := range different {
			problems = append(problems, fmt.Sprintf("%s, run %s: %s", key.workflow, key.run, text))
		}
	}
	slices.Sort(problems)
	if len(problems) > 0 {
		require.FailNow(t, "the state of a live workflow and the state of its replay differ", strings.Join(problems, "\n"))
	}
	return sum
}

// runKey names one run of an agent.
type runKey struct{ workflow, run string }

// readStates reads the file in which worker processes have recorded the states of agents: see package statelog. It returns the
// entries of each run in the order of the file.
func readStates(path string) (map[runKey][]statelog.Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[runKey][]statelog.Entry{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e statelog.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		key := runKey{e.Workflow, e.Run}
		all[key] = append(all[key], e)
	}
	return all, lines.Err()
}

// differences compares the states that one run had live with the states of its replay, at each completed workflow task of the
// history h. It returns the number of tasks with the same states, the number of tasks in which the replay has no state, and a
// description of each task with different states.
func differences(h *historypb.History, live, replayed []statelog.Entry) (tasks, unseen int, different []string) {
	of := func(all []statelog.Entry, task int64, by string) (digests []string, last statelog.Entry) {
		for _, e := range all {
			if int64(e.Task) == task && (by == "" || strings.HasPrefix(by, fmt.Sprint(e.PID, "@"))) {
				digests, last = append(digests, e.Digest), e
			}
		}
		return digests, last
	}
	begin := beginOf(h)
	for _, event := range h.GetEvents() {
		done := event.GetWorkflowTaskCompletedEventAttributes()
		if done == nil || done.GetStartedEventId() < begin {
			continue
		}
		want, last := of(replayed, done.GetStartedEventId(), "")
		got, lastLive := of(live, done.GetStartedEventId(), done.GetIdentity())
		switch {
		case len(want) == 0:
			unseen++
		case !contains(got, want):
			// got may have more states than want. Temporal may drop a speculative task, and use its event ID again. A worker
			// may also record a state when it answers a query before the next task.
			different = append(different, fmt.Sprintf("task %d: the live workflow had %d states, at last %q; its replay has %d, at last %q",
				done.GetStartedEventId(), len(got), lastLive.Summary, len(want), last.Summary))
		default:
			tasks++
		}
	}
	return tasks, unseen, different
}

// contains reports whether the slice in the parameter part occurs in the slice in the parameter all, without a gap.
func contains(all, part []string) bool {
	for i := range len(all) - len(part) + 1 {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// beginOf returns the ID of the event from which on a history belongs to the run itself. The history of a run that began by a
// reset first has events that Temporal copied from the run that was reset. For any other run, the ID is 0.
func beginOf(h *historypb.History) int64 {
	var begin int64
	for _, event := range h.GetEvents() {
		if event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId() != "" {
			begin = event.GetEventId()
		}
	}
	return begin
}

// replayer replays the histories of agents and records the states that the agents have meanwhile.
type replayer struct {
	worker.WorkflowReplayer

	mu      sync.Mutex
	entries map[runKey][]statelog.Entry
}

func newReplayer(t testing.TB) *replayer {
	options, err := dial.ClientOptions("", "")
	require.NoError(t, err)
	r := &replayer{entries: map[runKey][]statelog.Entry{}}
	r.WorkflowReplayer, err = worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: options.DataConverter, FailureConverter: options.FailureConverter, DisableDeadlockDetection: true,
		Interceptors: []interceptor.WorkerInterceptor{statelog.Interceptor(true, r.record)},
	})
	require.NoError(t, err)
	workflows.New(workflows.Options{}).Register(r)
	return r
}

func (r *replayer) record(e statelog.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := runKey{e.Workflow, e.Run}
	r.entries[key] = append(r.entries[key], e)
}

// states replays the history of one run and returns the states that the workflow had during the replay.
func (r *replayer) states(id, run string, h *historypb.History) ([]statelog.Entry, error) {
	err := r.ReplayWorkflowHistoryWithOptions(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), begun(h),
		worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id, RunID: run}})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[runKey{id, run}], err
}

// begun returns a history for the replayer. The replayer runs a workflow task only if another task has started after it. So begun
// adds the start of one more task to the history h. If the workflow has ended by itself, begun returns h unchanged.
func begun(h *historypb.History) *historypb.History {
	var all []*historypb.HistoryEvent
	for _, e := range slices.Backward(h.GetEvents()) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			all = slices.Clone(h.GetEvents()[:e.GetEventId()])
			break
		}
	}
	add := func(e *historypb.HistoryEvent) {
		e.EventId = int64(len(all) + 1)
		all = append(all, e)
	}
	for _, e := range h.GetEvents()[len(all):] {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
			return h
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
			enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
			enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		default:
			add(proto.Clone(e).(*historypb.HistoryEvent))
		}
	}
	at := h.GetEvents()[len(h.GetEvents())-1].GetEventTime()
	add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, EventTime: at})
	add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, EventTime: at})
	return &historypb.History{Events: all}
}

// historyOf reads the history of one run.
func historyOf(ctx context.Context, c sdk.Client, id, run string) (*historypb.History, error) {
	h := &historypb.History{}
	events := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, event)
	}
	return h, nil
}

// logHistory logs the events of one run, one in each line.
func logHistory(t testing.TB, c sdk.Client, id, run string) {
	h, err := historyOf(context.Background(), c, id, run)
	t.Logf("run %s of %s: %v%s", run, id, err, eventLines(h))
}

// eventLines describes the events of a history as text, one in each line.
func eventLines(h *historypb.History) string {
	var b strings.Builder
	for _, e := range h.GetEvents() {
		fmt.Fprintf(&b, "\n%4d %s %s %s%s%s", e.GetEventId(), clock(e.GetEventTime().AsTime()), e.GetEventType(),
			e.GetActivityTaskScheduledEventAttributes().GetActivityId(),
			e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId(),
			e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName())
		if failed := e.GetWorkflowTaskFailedEventAttributes(); failed != nil {
			fmt.Fprint(&b, failed.GetCause(), " ", failed.GetFailure().GetMessage(), " base ", failed.GetBaseRunId())
		}
		if done := e.GetActivityTaskCompletedEventAttributes(); done != nil {
			fmt.Fprint(&b, "of ", done.GetScheduledEventId(), " by ", done.GetIdentity())
		}
	}
	return b.String()
}

// isGone reports whether err says that Temporal has no such agent or run, for example because it was deleted.
func isGone(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }
