package activities

import (
	"context"
	"fmt"

	"github.com/maypok86/otter/v2"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/flight"
)

// index says which activities one run scheduled, and where its history has their results. It is small, so that a worker
// can keep it for every earlier run of its agents; the results themselves are read when they are needed. It must
// not be modified after it was made.
type index struct {
	// activities are the activities by their IDs, and the sub-agents that the run started by their workflow IDs. Those
	// have no result here.
	activities map[string]place
	// pages are Temporal's tokens for the pages of the history. That of the first page is empty.
	pages [][]byte
	size  int // of all of this in memory, roughly, in bytes
}

// place is the place of an activity's result in a history. The zero place is that of an activity that was
// scheduled and has no result.
type place struct {
	event int64 // the ID of the event of its completion
	page  int
}

// location names a result: an event of a run.
type location struct {
	runID string
	event int64
}

// pageEvents bounds the events of one page of a history: a result is read with the page that holds it.
const pageEvents = 50

// resultOf returns the result that an activity had in a run, nil where it had none, and whether it was scheduled there.
func (a *Activities) resultOf(ctx context.Context, workflowID, runID, activityID string) (result *commonpb.Payloads, scheduled bool, err error) {
	x, err := a.index(ctx, workflowID, runID)
	if err != nil {
		return nil, false, err
	}
	at, scheduled := x.activities[activityID]
	if at.event == 0 {
		return nil, scheduled, nil
	}
	result, err = a.resultAt(ctx, workflowID, runID, x, at)
	return result, true, err
}

// index returns the index of a run. It is made once for each worker where the run has ended, and anew at each
// call where it has not.
func (a *Activities) index(ctx context.Context, workflowID, runID string) (*index, error) {
	if x, ok := a.indexes.GetIfPresent(runID); ok {
		return x, nil
	}
	return flight.Do(ctx, &a.flights, "index\n"+runID, func(ctx context.Context) (*index, error) {
		x := &index{activities: map[string]place{}}
		names := map[int64]string{} // of the activities, by the events of their beginnings
		ended := false
		for token := []byte(nil); len(x.pages) == 0 || len(token) > 0; {
			page := len(x.pages)
			x.pages = append(x.pages, token)
			x.size += 100 + len(token)
			events, next, err := a.page(ctx, workflowID, runID, token)
			if err != nil {
				return nil, err
			}
			for _, event := range events {
				x.add(event, page, names)
				ended = history.Closes(event.GetEventType())
			}
			a.keepResults(runID, events)
			token = next
		}
		if ended {
			a.indexes.Set(runID, x)
		}
		return x, nil
	})
}

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
		x.activities[names[begun]] = place{event.GetEventId(), page}
	}
}

// resultAt reads a result, with the page of the history that holds it.
func (a *Activities) resultAt(ctx context.Context, workflowID, runID string, x *index, at place) (*commonpb.Payloads, error) {
	if result, ok := a.results.GetIfPresent(location{runID, at.event}); ok {
		return result, nil
	}
	name := fmt.Sprint("page\n", runID, "\n", at.page)
	events, err := flight.Do(ctx, &a.flights, name, func(ctx context.Context) ([]*historypb.HistoryEvent, error) {
		events, _, err := a.page(ctx, workflowID, runID, x.pages[at.page])
		a.keepResults(runID, events)
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
	a.indexes.Invalidate(runID) // its tokens do not count any more
	return nil, fmt.Errorf("the history of run %s has no event %d in the page where it was", runID, at.event)
}

// keepResults remembers the results among events: who needs one of them often needs its neighbours.
func (a *Activities) keepResults(runID string, events []*historypb.HistoryEvent) {
	for _, event := range events {
		if done := event.GetActivityTaskCompletedEventAttributes(); done != nil {
			a.results.Set(location{runID, event.GetEventId()}, done.GetResult())
		}
	}
}

// page reads a page of a history and returns the token of the next one, which is empty after the last.
func (a *Activities) page(ctx context.Context, workflowID, runID string, token []byte) ([]*historypb.HistoryEvent, []byte, error) {
	out, err := a.temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace:       activity.GetInfo(ctx).Namespace,
		Execution:       &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		MaximumPageSize: pageEvents, NextPageToken: token,
	})
	if err != nil {
		return nil, nil, err
	}
	events := out.GetHistory().GetEvents()
	for _, blob := range out.GetRawHistory() { // how servers answer that leave the decoding to us
		var part historypb.History
		if err := proto.Unmarshal(blob.GetData(), &part); err != nil {
			return nil, nil, fmt.Errorf("decode the history of run %s: %w", runID, err)
		}
		events = append(events, part.GetEvents()...)
	}
	return events, out.GetNextPageToken(), nil
}

// newIndexes makes the cache of indexes by run ID, newResults that of results.
func newIndexes(bytes int) (*otter.Cache[string, *index], error) {
	return otter.New(&otter.Options[string, *index]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ string, x *index) uint32 { return uint32(x.size) },
	})
}

func newResults(bytes int) (*otter.Cache[location, *commonpb.Payloads], error) {
	return otter.New(&otter.Options[location, *commonpb.Payloads]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ location, p *commonpb.Payloads) uint32 { return uint32(200 + proto.Size(p)) },
	})
}
