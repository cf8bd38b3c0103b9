package client

import (
	"context"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

const (
	// statusPause is the time between two statuses that [Client.Watch] yields while the agent is working.
	statusPause = 250 * time.Millisecond
	// minLook and maxLook are the shortest and the longest time between two descriptions of a working agent. A description has
	// what the history does not have: calls that are tried again, partial text, and work that no worker has taken. As long as
	// there is nothing of this kind, the time grows. If the agent reports its partial text, the time is textLook.
	minLook, maxLook, textLook = time.Second, 5 * time.Second, 500 * time.Millisecond
	// maxHealthPause is the longest time between two checks that Temporal answers, while the agent is idle: see [watcher.idle].
	maxHealthPause = time.Minute
	// lookTimeout limits the time of one description.
	lookTimeout = 5 * time.Second
	// batchPause is the time without an event after which a batch is complete: events that Temporal has written together.
	batchPause = 2 * time.Millisecond
	// restFactor times the duration of a replay is the pause after it, so that many events of a long history do not cause many
	// replays.
	restFactor = 4
	// maxReplayRest limits this pause, because the first replay of a process is slow.
	maxReplayRest = 250 * time.Millisecond
	// maxQuick is the number of requests for events that may follow each other without a rest. After that, the rest between two
	// requests grows from minRest to maxRest. If no event has come for the time `calm`, the count begins again.
	maxQuick               = 10
	minRest, maxRest, calm = 2 * time.Millisecond, 500 * time.Millisecond, time.Second
	// replayPause is the time until the next try to replay a history, while other watchers do so.
	replayPause = 10 * time.Millisecond
	// maxReplayFailures is how often the replay of a history is tried again after an error. With [maxPause] this takes half a minute.
	maxReplayFailures = 60
	// maxLosses is the number of requests for events that fail in a row, at which the watcher gives up.
	maxLosses = 20
	// unservedTime is how long work of the agent must have waited for a worker before [Client.Watch] reports that there is none.
	unservedTime = 2 * time.Second
)

// watcher does the work of one call of [Client.Watch]. It follows one run of the agent after the other.
type watcher struct {
	client *Client
	id     string
	// from is the index of the message that is yielded next.
	from  int
	yield func(Progress, error) bool

	// runID is the run that the watcher follows, and queue is its task queue. task is the beginning of the agent's first message.
	runID, queue, task string
	// events are the events of the run so far, from the first one on.
	events []*historypb.HistoryEvent
	// losses is the number of failed requests for events since the event with the ID `seen`, which is the newest event of the run.
	losses int
	seen   int64
	// status is the status after the events; empty while the agent has no state.
	status   Status
	waitsFor WaitsFor  // with the status
	snap     *Snapshot // with the status
	loads    bool      // with the status: the next step is to read the definition
	// text says that the agent's model calls and tool calls report their partial text, and calls are the open calls after the events.
	text  bool
	calls []agent.Call
	// decisions are those that the agent has received.
	decisions []agent.Decision
	// found is a description of the agent that is newer than the last message; zero if there is none. outputs is the output of the
	// tools that were running then.
	found   description
	outputs []ToolOutput
	// pause is the time until the next description or health check, which is due at the time `next`.
	pause time.Duration
	next  time.Time
	// down says that Temporal did not answer the last description or health check.
	down bool
	// unserved says that work waits for a worker, and since is the time at which the watcher first saw this.
	unserved bool
	since    time.Time
}

// watch follows the agent until it has ended, the caller stops the iteration, or an error occurs.
func (w *watcher) watch(ctx context.Context) {
	for ; ; sleep(ctx, minPause) {
		found, err := w.describe(ctx)
		switch {
		case ctx.Err() != nil:
			w.yield(Progress{}, context.Cause(ctx))
			return
		case errors.Is(err, ErrNoServer):
			if !w.yield(Progress{NoServer: true, Index: w.from}, nil) {
				return
			}
			sleep(ctx, maxPause)
			continue
		case err != nil:
			w.yield(Progress{}, err)
			return
		case found.status.Ended():
			run, err := w.client.read(ctx, agent.RunRef{ID: w.id, RunID: found.runID})
			w.task = found.task
			w.end(found.status, run, err)
			return
		}
		if !w.follow(ctx, found) {
			return
		}
	}
}

// describe is [Client.describe] with a time limit. If Temporal does not answer, the error wraps [ErrNoServer].
func (w *watcher) describe(ctx context.Context) (description, error) {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := w.client.describe(limited, w.id)
	if errors.Is(err, ErrNoWorker) { // the request has timed out, and a description needs no worker
		err = ErrNoServer
	}
	return found, err
}

// end yields the messages and the status of an agent that has ended with the given run, or the error of reading this run.
func (w *watcher) end(status Status, run *history.Run, err error) {
	if err != nil {
		w.yield(Progress{}, err)
		return
	}
	if run.State != nil && !w.messages(run.State) {
		return
	}
	snap := snapshot(w.id, status, w.task, run)
	w.yield(Progress{Index: w.from, Status: status, Snapshot: &snap}, nil)
}

// closed handles the last event of a run. If the agent has ended with the run, closed yields the end and returns false: the iteration is
// over. It returns true if the watcher has to describe the agent again, because the agent may go on in another run, or because the events
// do not give its last state.
func (w *watcher) closed() bool {
	status, ended := ends[w.events[len(w.events)-1].GetEventType()]
	if !ended {
		return true
	}
	run, err := history.Of(w.id, w.runID, w.events, w.client.converter)
	if err != nil || run.State == nil {
		return true
	}
	w.end(status, run, nil)
	return false
}

// ends maps the last event of a run to the status of the agent. A termination is not here, because it may belong to a reset, after
// which the agent goes on.
var ends = map[enumspb.EventType]Status{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: Completed,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:    Failed,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:  Cancelled,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: TimedOut,
}

// follow yields the progress of the agent's newest run, which `found` describes. It returns true when the run has ended, or when
// its history has to be read again from the beginning. It returns false if the iteration is over.
func (w *watcher) follow(ctx context.Context, found description) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if found.runID != w.runID {
		w.losses, w.seen = 0, 0
	}
	w.runID, w.queue, w.task, w.events, w.status, w.found = found.runID, found.queue, found.task, nil, "", description{}
	w.unserved, w.text, w.calls, w.outputs = false, false, nil, nil
	w.look(time.Now())
	feed := follow(ctx, w.client.temporal, w.id, found)
	changed := false         // since the last replay
	var rested time.Time     // the earliest time of the next replay
	var due <-chan time.Time // when the next replay is due; nil if there is none
	failures := 0            // of the last replays
	tick := time.NewTicker(statusPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.yield(Progress{}, context.Cause(ctx))
			return false
		case first := <-feed:
			before := len(w.events)
			if err := w.collect(first, feed); err != nil {
				return w.lost(ctx, err)
			}
			changed = changed || changes(w.events[before:])
			if history.Closes(w.events[len(w.events)-1].GetEventType()) {
				return w.closed()
			}
			if changed && due == nil && int64(len(w.events)) >= found.events {
				due = time.After(time.Until(rested))
			}
		case <-due:
			select {
			case w.client.replays <- struct{}{}:
			default: // other watchers replay their histories; more events may come meanwhile
				due = time.After(replayPause)
				continue
			}
			began := time.Now()
			run, err := history.Of(w.id, w.runID, w.events, w.client.converter)
			took := time.Since(began)
			time.AfterFunc(took, func() { <-w.client.replays })
			rested, due, changed = time.Now().Add(min(restFactor*took, maxReplayRest)), nil, false
			if err != nil && failures < maxReplayFailures && !errors.Is(err, converter.ErrEncodingIsNotSupported) {
				failures++
				due = time.After(maxPause) // a codec server may not answer for a moment
				continue
			}
			wasIdle := w.idle()
			if failures = 0; !w.show(run, err) {
				return false
			}
			if wasIdle || w.text || w.idle() {
				w.look(time.Now())
			}
		case now := <-tick.C:
			quiet := w.idle() && !w.down
			if now.After(w.next) {
				w.refresh(ctx)
			}
			if quiet = quiet && !w.down; !quiet && ctx.Err() == nil && !w.report() {
				return false
			}
		}
	}
}

// collect adds to the events an event and all that follow it without a pause: see [batchPause]. It returns the error of the
// feed, if there is one.
func (w *watcher) collect(item followed, feed <-chan followed) error {
	for {
		if item.err != nil {
			return item.err
		}
		id := item.event.GetEventId()
		w.events = append(w.events[:min(len(w.events), int(id)-1)], item.event) // an event with the same ID is no longer valid
		if id > w.seen {
			w.seen, w.losses = id, 0
		}
		select {
		case item = <-feed:
		case <-time.After(batchPause):
			return nil
		}
	}
}

// followed is an event of a run, or the error after which no event follows.
type followed struct {
	event *historypb.HistoryEvent
	err   error
}

// follow returns a channel with the events of a run, from the first one on. Later events follow as soon as they are written. If many
// events come one after the other, follow rests between two requests (see [maxQuick]), so that many watchers of one agent do not
// keep Temporal busy. If a request fails and the SDK's retries fail, too, the channel gets the error. follow stops when the context
// ends.
func follow(ctx context.Context, temporal client.Client, id string, run description) <-chan followed {
	feed := make(chan followed)
	go func() {
		events := temporal.GetWorkflowHistory(ctx, id, run.runID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		last, quick, rest := time.Now(), 0, time.Duration(0)
		for {
			asked := time.Now()
			if !events.HasNext() {
				return
			}
			took, since := time.Since(asked), time.Since(last)
			last = time.Now()
			event, err := events.Next()
			switch {
			case since >= calm:
				quick, rest = 0, 0
			case took >= time.Millisecond && event.GetEventId() > run.events: // the event was not in memory
				// Rest before the first event of an answer, because all events of an answer belong together.
				if quick++; quick > maxQuick {
					rest = min(2*rest+minRest, maxRest)
					sleep(ctx, rest)
				}
			}
			select {
			case feed <- followed{event, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return feed
}

// idle reports whether the agent waits for a message, for somebody outside or for sub-agents in the background, so that only a new event
// can change anything.
func (w *watcher) idle() bool { return w.status == Waiting || w.status == Held }

// changes reports whether the batch has an end of a workflow task, so that the state may have changed. The updates and versions of
// the task are events after this end, and may come in a later batch.
func changes(batch []*historypb.HistoryEvent) bool {
	return slices.ContainsFunc(batch, func(e *historypb.HistoryEvent) bool {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, enumspb.EVENT_TYPE_MARKER_RECORDED:
			return true
		}
		return false
	})
}

// lost decides what follows after a request for events has failed with the given error, although the SDK has repeated it. It returns
// true if the history has to be read again: the failure may pass, or the run was deleted and the agent has a newer run. If not, it
// yields the error and returns false.
func (w *watcher) lost(ctx context.Context, err error) bool {
	if errors.As(err, new(*serviceerror.NotFound)) {
		found, gone := w.describe(ctx)
		if gone == nil && found.runID != w.runID {
			return true
		}
	} else if w.losses++; w.losses < maxLosses {
		sleep(ctx, maxPause)
		return true // if the context has ended, watch says so
	}
	w.yield(Progress{}, wrap("read", w.id, err))
	return false
}

// show yields the new messages and the status of a run that was read from the events, or `err` if it could not be read. It returns
// false if the iteration is over.
func (w *watcher) show(run *history.Run, err error) bool {
	if err != nil {
		w.yield(Progress{}, wrap("read", w.id, err))
		return false
	}
	w.unserved, w.down = false, false // the new events show that a worker and Temporal answer
	s := run.State
	if s == nil {
		w.status = ""
		return w.yield(Progress{Index: w.from}, nil)
	}
	if s.Count() < w.from {
		w.from, w.found, w.outputs = s.Count(), description{}, nil
		if !w.yield(Progress{Rewound: true, Index: w.from}, nil) {
			return false
		}
	}
	if !w.messages(s) {
		return false
	}
	_, w.loads = s.Next().(agent.Load)
	w.status, w.waitsFor, w.text, w.calls = s.Status(), s.WaitsFor(), s.ReportsText(time.Now().UnixMilli()), s.Calls
	// An interrupted agent is held and waits for another message than those that were in the queue before.
	if w.status.Ended() || w.status == Waiting && w.waitsFor == WaitsForMessage && len(s.Queue) > 0 {
		w.status, w.waitsFor = Running, "" // the workflow has not ended yet, or takes a message next
	}
	snap := snapshot(w.id, Running, w.task, run)
	snap.Status, snap.WaitsFor = w.status, w.waitsFor
	w.snap = &snap
	return w.report()
}

// messages yields the new messages of a state. It returns false if the caller stops the iteration.
func (w *watcher) messages(s *agent.State) bool {
	w.decisions = s.Decisions
	for w.from = max(w.from, s.Dropped); w.from < s.Count(); w.from++ {
		w.found, w.outputs = description{}, nil
		if !w.yield(Progress{Message: &s.Messages[w.from-s.Dropped], Index: w.from}, nil) {
			return false
		}
	}
	return true
}

// report yields the agent's status, or why the agent does not go on. It returns false if the caller stops the iteration.
func (w *watcher) report() bool {
	p := Progress{Index: w.from}
	switch {
	case w.down:
		p.NoServer = true
	case !w.idle() && w.unserved && time.Since(w.since) >= unservedTime:
		p.NoWorker = true
	default:
		if p.Status, p.WaitsFor = w.status, w.waitsFor; p.Status != "" {
			p.Snapshot, p.Open = w.snap, w.calls
		}
		if w.status == Running {
			p.LoadsDefinition, p.Retry, p.PartialText, p.ToolOutputs = w.loads, w.found.retry, w.found.words, w.outputs
		}
	}
	return w.yield(p, nil)
}

// look makes the next description or health check follow soon after `now`, because something has changed.
func (w *watcher) look(now time.Time) {
	w.pause = minLook
	if w.text {
		w.pause = textLook
	}
	w.next = now.Add(w.pause)
}

// refresh describes a working agent anew. If the agent is idle, refresh only checks that Temporal answers.
func (w *watcher) refresh(ctx context.Context) {
	limit, soon, wasDown := maxLook, false, w.down
	if w.idle() {
		limit, w.down = maxHealthPause, w.client.temporalIsDown(ctx)
	} else if found, err := w.describe(ctx); err != nil {
		w.down = errors.Is(err, ErrNoServer)
	} else {
		w.down, w.found, w.outputs = false, found, nil
		if w.text {
			w.outputs = w.client.toolOutputs(found.activities, w.calls)
		}
		if waits := w.waits(found); waits != w.unserved {
			w.unserved, w.since = waits, time.Now()
		}
		soon = found.retry != nil || w.unserved
	}
	switch w.pause = min(w.pause*3/2, limit); {
	case w.down, wasDown, soon:
		w.pause = minLook
	case w.text && !w.idle():
		w.pause = textLook
	}
	w.next = time.Now().Add(w.pause)
}

// waits reports whether work of the agent waits for a worker: a workflow task, or an activity on the agent's task queue.
func (w *watcher) waits(found description) bool {
	return found.workflowTask.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED ||
		slices.ContainsFunc(found.activities, func(a *workflowpb.PendingActivityInfo) bool {
			due := a.GetNextAttemptScheduleTime() == nil || a.GetNextAttemptScheduleTime().AsTime().Before(time.Now())
			return a.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && due && w.queueOf(a.GetActivityId()) == w.queue
		})
}

// queueOf returns the task queue of an activity; empty if it is not known.
func (w *watcher) queueOf(activityID string) string {
	for _, e := range slices.Backward(w.events) {
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityId() == activityID {
			return a.GetTaskQueue().GetName()
		}
	}
	return ""
}
