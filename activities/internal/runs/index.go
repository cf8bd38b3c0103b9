package runs

import (
	"cmp"
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
)

// index lists the activities that one run of an agent scheduled, and says where their results are in the run's history. It does
// not have the results themselves, so it is small, and a worker can cache the indexes of all earlier runs of its agents. An
// index must not be modified after it was made.
type index struct {
	// activities says where the result of each activity is in the history, by activity ID. It also has an entry for each
	// sub-agent that the run started, by workflow ID. That entry is the zero [place], because the results of sub-agents are
	// not indexed.
	activities map[string]place
	// links holds the runs that may have done what this run or its copies ask for: the run that continued it as new, those that
	// it was reset from, the last one first, and the run that it resumes.
	links []string
	// pages has the page token of each page of the history, in order. The token of the first page is nil.
	pages [][]byte
	// size is the approximate size of the index in memory, in bytes.
	size int
}

// place says where the result of an activity is in a history, and whether the agent still wanted it. If event is 0, there is no result.
type place struct {
	event int64
	page  int
	// cancelled says that the agent has cancelled the activity, and has told the model that the activity has no result.
	cancelled bool
}

// location identifies the result of an activity by a run and the ID of an event in the run's history.
type location struct {
	runID string
	event int64
}

// pageEvents is the maximum number of events in one page of a history. It is small, because [Reader.resultAt] reads a whole
// page for one result.
const pageEvents = 50

// index returns the index of a run: see the type [index]. The index of a closed run is cached. The index of an open run is
// made again at each call, because the run's history grows.
func (r *Reader) index(ctx context.Context, workflowID, runID string) (*index, error) {
	return flight.Do(ctx, &r.flights, "index\n"+runID, func(ctx context.Context) (*index, error) {
		if x, ok := r.indexes.GetIfPresent(runID); ok {
			return x, nil
		}
		x := &index{activities: map[string]place{}}
		names := map[int64]string{} // activity IDs, by the IDs of their ActivityTaskScheduled events
		ended := false
		for token := []byte(nil); len(x.pages) == 0 || len(token) > 0; {
			page := len(x.pages)
			x.pages = append(x.pages, token)
			x.size += 100 + len(token)
			events, next, err := r.page(ctx, workflowID, runID, token)
			if err != nil {
				return nil, err
			}
			for _, event := range events {
				x.add(event, page, names)
				x.link(event, r.converter)
				ended = history.Closes(event.GetEventType())
			}
			r.keepResults(runID, events)
			token = next
		}
		if ended {
			r.indexes.Set(runID, x)
		}
		return x, nil
	})
}

// add updates the index with the next event of the history. The event is on the page with the number `page`, counted from 0.
// `names` maps the ID of each ActivityTaskScheduled event so far to the ID of its activity. If the given event is an
// ActivityTaskScheduled event, add puts it into this map.
func (x *index) add(event *historypb.HistoryEvent, page int, names map[int64]string) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		id := event.GetActivityTaskScheduledEventAttributes().GetActivityId()
		names[event.GetEventId()] = id
		if _, known := x.activities[id]; !known {
			x.activities[id] = place{}
			x.size += 100 + len(id)
		}
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		id := event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()
		x.activities[id] = place{}
		x.size += 100 + len(id)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		begun := event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
		x.activities[names[begun]] = place{event.GetEventId(), page, x.activities[names[begun]].cancelled}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		begun := event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
		at := x.activities[names[begun]]
		at.cancelled = true
		x.activities[names[begun]] = at
	}
}

func (x *index) link(event *historypb.HistoryEvent, dc converter.DataConverter) {
	var start agent.Start
	began := event.GetWorkflowExecutionStartedEventAttributes()
	if began != nil && dc.FromPayloads(began.GetInput(), &start) != nil {
		return // without this link, the run is found by Temporal's list
	}
	run := cmp.Or(event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(),
		event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId())
	if from := start.From; from != nil && from.Resume {
		run = from.RunID
	}
	if run != "" {
		x.links = append([]string{run}, x.links...)
		x.size += 100
	}
}

// resultAt returns an activity's result from the cache or from the history of a run. `x` is the run's index, and `at` is the
// place of the result in this index. If the history does not have the result at this place, resultAt removes the index from
// the cache and returns an error. The next attempt then makes a new index.
func (r *Reader) resultAt(ctx context.Context, workflowID, runID string, x *index, at place) (*commonpb.Payloads, error) {
	if result, ok := r.results.GetIfPresent(location{runID, at.event}); ok {
		return result, nil
	}
	name := fmt.Sprint("page\n", runID, "\n", at.page)
	events, err := flight.Do(ctx, &r.flights, name, func(ctx context.Context) ([]*historypb.HistoryEvent, error) {
		events, _, err := r.page(ctx, workflowID, runID, x.pages[at.page])
		r.keepResults(runID, events)
		return events, err
	})
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if event.GetEventId() == at.event {
			return event.GetActivityTaskCompletedEventAttributes().GetResult(), nil
		}
	}
	r.indexes.Invalidate(runID) // its page tokens are no longer valid
	return nil, fmt.Errorf("read a result from the history of run %s: event %d is not on the page that had it before; the next attempt reads the history again", runID, at.event)
}

// keepResults caches the activity results among the given events of a run. A caller that needs one result often needs the
// results near it.
func (r *Reader) keepResults(runID string, events []*historypb.HistoryEvent) {
	for _, event := range events {
		if done := event.GetActivityTaskCompletedEventAttributes(); done != nil {
			r.results.Set(location{runID, event.GetEventId()}, done.GetResult())
		}
	}
}

// page reads one page of a run's history. The given page token of Temporal selects the page; nil means the first page. The
// returned token selects the next page, and is empty after the last page.
func (r *Reader) page(ctx context.Context, workflowID, runID string, token []byte) ([]*historypb.HistoryEvent, []byte, error) {
	out, err := r.temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace:       activity.GetInfo(ctx).Namespace,
		Execution:       &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		MaximumPageSize: pageEvents, NextPageToken: token,
	})
	if err != nil {
		return nil, nil, err
	}
	events := out.GetHistory().GetEvents()
	for _, blob := range out.GetRawHistory() { // some servers send encoded events
		var part historypb.History
		if err := proto.Unmarshal(blob.GetData(), &part); err != nil {
			return nil, nil, fmt.Errorf("decode the history of run %s: %w", runID, err)
		}
		events = append(events, part.GetEvents()...)
	}
	return events, out.GetNextPageToken(), nil
}
