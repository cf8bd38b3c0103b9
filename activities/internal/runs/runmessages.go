package runs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// runMessages holds what the history of one run says about messages. In the comments of its fields, a search is an execution
// of [Reader.Messages] in the run.
type runMessages struct {
	// incarnation distinguishes agents that had the same ID at different times: see [agent.Identity].
	incarnation string
	// bases holds the runs that this run was reset from. A reset copies the history of the run that was reset. Therefore
	// bases may also hold the bases of that run.
	bases []string
	// continues is the ID of the run that this run continues as new. It is empty if there is no such run.
	continues string
	// resumes is the ID of the run whose state this run reads from a history, to resume or continue that run. It is empty if
	// there is no such run.
	resumes string
	// unread says that this run resumes an agent and has not read the state yet. The run in the field `resumes` may then be
	// wrong, because this run may read the state of another run, which ended later: see [history.Newest].
	unread bool
	// sent, admitted and found hold messages from different sources. sent holds those that senders sent to this run after the
	// last reset. Without a reset, sent also holds the message with which the run started. admitted holds those that Temporal
	// delivered again after the last reset. found holds those that searches found in other runs, which may be deleted since.
	//
	// Each message has the time at which a run first took it, in Unix milliseconds. The time is 0 in admitted, because
	// another run had taken the message before.
	sent, found received
	admitted    []agent.QueuedMessage
	// deciding holds the decisions that the run has accepted without telling their senders yet, by the ID of the
	// WorkflowExecutionUpdateAccepted event. The run may still refuse such a decision.
	deciding map[int64]agent.Decision
	// unsearched says that a reset began the run, and that no search has ended since. Decisions that the run accepts are early.
	unsearched bool
	// listed holds the messages in the lists that searches returned. These messages have only an ID and a time.
	listed []agent.QueuedMessage
	// searches and reads hold the IDs of ActivityTaskScheduled events: searches those of the searches, and reads those of
	// the activity ReadAgent.
	searches, reads map[int64]bool
}

// all returns all messages that the history of the run mentions. A message may occur several times. The messages of the field
// `listed` have only an ID and a time.
func (t *runMessages) all() []agent.QueuedMessage {
	return slices.Concat(t.listed, t.found.messages, t.admitted, t.sent.messages)
}

// readMessages reads the history of a run and returns what it says about messages.
func (r *Reader) readMessages(ctx context.Context, from agent.RunRef) (*runMessages, error) {
	t := &runMessages{searches: map[int64]bool{}, reads: map[int64]bool{}, deciding: map[int64]agent.Decision{}}
	for event, err := range history.Events(ctx, r.temporal, from) {
		if err == nil {
			err = t.add(event, r.converter)
		}
		if err != nil {
			return nil, fmt.Errorf("read the messages of run %s: %w", from.RunID, err)
		}
	}
	t.close()
	return t, nil
}

// close adds the decisions that the run had accepted when it ended, but had not reported to their senders. A run that continues
// with its state has these decisions.
func (t *runMessages) close() {
	for _, accepted := range slices.Sorted(maps.Keys(t.deciding)) {
		t.sent.decisions = append(t.sent.decisions, t.deciding[accepted])
	}
}

// add adds what one event of the run's history says about messages.
func (t *runMessages) add(event *historypb.HistoryEvent, dc converter.DataConverter) error {
	if began := event.GetWorkflowExecutionStartedEventAttributes(); began != nil {
		var start agent.Start
		if err := dc.FromPayloads(began.GetInput(), &start); err != nil {
			return err
		}
		t.incarnation = cmp.Or(start.Incarnation, began.GetFirstExecutionRunId())
		t.continues = began.GetContinuedExecutionRunId()
		if start.From != nil && !start.From.Fork {
			t.resumes, t.unread = start.From.RunID, start.From.Resume
		}
		for _, m := range start.Messages() {
			m.Time = event.GetEventTime().AsTime().UnixMilli()
			t.sent.messages = append(t.sent.messages, m)
		}
	}
	switch event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() {
	case protocol.FindMessages:
		t.searches[event.GetEventId()] = true
	case protocol.ReadAgent:
		t.reads[event.GetEventId()] = t.unread
	}
	done := event.GetActivityTaskCompletedEventAttributes()
	if t.reads[done.GetScheduledEventId()] {
		var page protocol.Page
		if err := dc.FromPayloads(done.GetResult(), &page); err != nil {
			return err
		}
		t.resumes, t.unread = cmp.Or(page.RunID, t.resumes), false
	}
	if t.searches[done.GetScheduledEventId()] {
		var page protocol.FoundMessages
		if err := dc.FromPayloads(done.GetResult(), &page); err != nil {
			return err
		}
		t.found.add(received{page.Messages, page.Decisions, page.Revoked})
		t.unsearched = t.unsearched && page.More
		for i, id := range page.Order {
			if i < len(page.Times) {
				t.listed = append(t.listed, agent.QueuedMessage{ID: id, Time: page.Times[i]})
			}
		}
	}
	if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" {
		t.bases, t.sent, t.admitted, t.deciding = append(t.bases, base), received{}, nil, map[int64]agent.Decision{}
		t.unsearched = true
	}
	if update := event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest().GetInput(); update.GetName() == protocol.MessageUpdate {
		var m agent.QueuedMessage
		if err := dc.FromPayloads(update.GetArgs(), &m); err != nil {
			return err
		}
		m.Time = 0
		t.admitted = append(t.admitted, m)
	}
	if ended := event.GetWorkflowExecutionUpdateCompletedEventAttributes(); ended != nil {
		if d, ok := t.deciding[ended.GetAcceptedEventId()]; ok && ended.GetOutcome().GetFailure() == nil {
			t.sent.decisions = append(t.sent.decisions, d)
		}
		delete(t.deciding, ended.GetAcceptedEventId())
	}
	return t.addAccepted(event, dc)
}

// addAccepted adds the update that a sender sent to this run, if the event says that the run accepted one.
func (t *runMessages) addAccepted(event *historypb.HistoryEvent, dc converter.DataConverter) error {
	update := event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput()
	decode := func(out any) error { return dc.FromPayloads(update.GetArgs(), out) }
	e, err := protocol.UpdateEvent(update.GetName(), decode, event.GetEventTime().AsTime().UnixMilli())
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case agent.MessageReceived:
		e.Message.Time = e.Time
		t.sent.messages = append(t.sent.messages, e.Message)
	case agent.Decided:
		e.Decision.Time, e.Decision.Early = e.Time, t.unsearched
		t.deciding[event.GetEventId()] = e.Decision
	case agent.PermissionRevoked:
		t.sent.revoked = append(t.sent.revoked, e.Key)
	}
	return nil
}
