package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// maxFoundBytes limits the messages and decisions of one page, in bytes. A single one that is larger gets a page of its own.
	maxFoundBytes = 1_000_000
	// maxOrderBytes limits the IDs and times in the first page, in bytes. If there are too many messages, the newest are left
	// out of the list. The package `agent` treats a message that is not in the list as newer than all messages in the list.
	maxOrderBytes = 300_000
	// maxPlacesBytes limits the places in the first page, in bytes. If there are too many, those that come last in the transcripts are left
	// out. A message without a place enters at the end of a turn.
	maxPlacesBytes = 300_000
)

// FindMessages returns one page of the messages and decisions that an agent may lack after a reset. Other runs of the agent
// received them. The run that executes FindMessages is called the searching run. What follows about messages holds for
// decisions and revoked permissions, too.
//
// Another run of the agent can be a base run or a predecessor of the searching run:
//
//   - A base run is a run that the searching run was reset from. The base runs of base runs and of predecessors count as
//     base runs, too.
//   - A predecessor is a run with whose state the searching run began, for example after a resume. The predecessors of
//     predecessors count as predecessors, too.
//
// After a reset, Temporal delivers the messages of the base run again, but not the messages of other runs. Therefore the
// result depends on the run that took the messages:
//
//   - A predecessor: FindMessages returns none of its messages, because the state of the searching run has them.
//   - A base run, or a run that continued a base run as new: FindMessages returns only the messages that this run had itself
//     received from FindMessages. The reset has already decided which of its other messages are delivered again. Of decisions,
//     FindMessages returns all, so that the agent knows which of those that come are delivered again.
//   - A run of an earlier agent that had the same ID: FindMessages returns none of its messages. Such a run has another
//     incarnation: see [agent.Identity].
//   - Any other run: FindMessages returns the messages that senders sent to this run, and the messages that this run had
//     received from FindMessages.
//
// Each message and each revoked permission occurs once, and so does each call with its first decision. The messages of base
// runs, and of runs that continued a base run as new, come first. The messages of all other runs follow. Within both groups, the messages of older
// runs come first. All decisions follow in the same order.
func (a *Activities) FindMessages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	beat := a.startHeartbeat(ctx, false, nil)
	defer beat.stop()
	here := activity.GetInfo(ctx).WorkflowExecution
	others, err := a.earlier(ctx)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	r := &relations{a: a, id: here.ID, read: map[string]*runMessages{}, past: map[string]bool{}}
	if err := r.trace(ctx, here.RunID); err != nil {
		return protocol.FoundMessages{}, err
	}
	var ofBases, ofOthers received
	var all []agent.QueuedMessage
	var foreign []string // the runs whose transcripts the searching run does not continue, oldest first
	for _, run := range slices.Backward(others) {
		t, err := r.messagesOf(ctx, run)
		if err != nil {
			return protocol.FoundMessages{}, err
		}
		if t == nil || t.incarnation != r.own.incarnation {
			continue
		}
		all = append(all, t.all()...)
		if !r.past[run] {
			foreign = append(foreign, run)
		}
		// Temporal delivers the messages of a base run again, and also the messages of a run that continued a base run.
		switch {
		case r.past[run]:
		case slices.Contains(r.bases, run) || len(t.bases) == 0 && slices.Contains(r.bases, t.continues):
			r.bases = append(r.bases, run) // a run that continued this run counts as a base run, too
			ofBases.add(t.found)
			// The reset delivers these again. The agent has to tell them from those that somebody makes after the reset.
			ofBases.add(received{decisions: t.sent.decisions})
		default:
			ofOthers.add(t.found)
			ofOthers.add(t.sent)
		}
	}
	ofBases.add(ofOthers)
	found := page(ofBases, in.Skip)
	found.Run = protocol.RunSuffix(here.RunID)
	if in.Skip == 0 {
		found.Order, found.Times = inOrder(append(all, r.own.all()...))
		found.Revoked = slices.Compact(slices.Sorted(slices.Values(ofBases.revoked)))
		if found.Places, err = a.places(ctx, here.ID, foreign, found.Order, in.Count); err != nil {
			return protocol.FoundMessages{}, err
		}
	}
	return found, nil
}

// places returns where the given runs have put messages into their transcripts: see [agent.AddPlaces]. The runs are ordered, oldest first.
// The result has only messages with the given IDs, and only places behind at least `count` messages.
func (a *Activities) places(ctx context.Context, id string, runs, messages []string, count int) (map[string]agent.Place, error) {
	places := map[string]agent.Place{}
	for _, run := range runs {
		s, err := a.lastState(ctx, agent.RunRef{ID: id, RunID: run})
		if err != nil {
			return nil, fmt.Errorf("read the places of messages in run %s: %w", run, err)
		}
		if s != nil {
			agent.AddPlaces(places, s.Places())
		}
	}
	return needed(places, messages, count), nil
}

// needed returns the places of the messages with the given IDs, behind at least `count` messages. It leaves out places if they have more than
// [maxPlacesBytes] bytes together.
func needed(places map[string]agent.Place, messages []string, count int) map[string]agent.Place {
	var ids []string
	for _, id := range messages {
		if p, known := places[id]; known && p.At >= count {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(places[a].At, places[b].At) })
	kept, size := map[string]agent.Place{}, 0
	for _, id := range ids {
		if size += payload.Size(id) + payload.Size(places[id]) + len(":,"); size > maxPlacesBytes {
			break
		}
		kept[id] = places[id]
	}
	return kept
}

// inOrder sorts the given messages by the time at which a run first took them, oldest first. It returns their IDs in this
// order, and these times in Unix milliseconds. The agent uses the order to sort found messages into its queue.
//
// Each ID occurs once. If the IDs and times together have more than [maxOrderBytes] bytes, the newest messages are left out
// of the results. A message has the time 0 and comes first if its time is unknown, for example because the run that took it
// is deleted.
func inOrder(messages []agent.QueuedMessage) (ids []string, times []int64) {
	first := map[string]int64{}
	for _, m := range messages {
		if known := first[m.ID]; known == 0 || m.Time != 0 && m.Time < known {
			first[m.ID] = m.Time
		}
	}
	slices.SortStableFunc(messages, func(a, b agent.QueuedMessage) int { return cmp.Compare(first[a.ID], first[b.ID]) })
	size := 0
	for _, m := range messages {
		at, listed := first[m.ID]
		if !listed {
			continue
		}
		delete(first, m.ID)
		if size += payload.Size(m.ID) + len(",1234567890123,"); size > maxOrderBytes {
			break
		}
		ids, times = append(ids, m.ID), append(times, at)
	}
	return ids, times
}

// page returns one page of the given messages and decisions. `skip` is the number of messages and decisions that the earlier
// pages had. The page begins after these, and holds as many as fit. If several messages have the same ID, only the first of
// them counts and is returned. The same holds for decisions of the same kind on the same call. The field `More` of the result
// says whether there are further messages or decisions.
func page(all received, skip int) protocol.FoundMessages {
	var found protocol.FoundMessages
	taken, size := map[string]bool{}, 0
	// fits reports whether the message or the decision with the given ID belongs to the page.
	fits := func(id string, value any) bool {
		if found.More || taken[id] {
			return false
		}
		taken[id] = true
		if len(taken) <= skip {
			return false
		}
		size += payload.Size(value)
		found.More = size > maxFoundBytes && len(found.Messages)+len(found.Decisions) > 0
		return !found.More
	}
	for _, m := range all.messages {
		if fits(m.ID, m) {
			found.Messages = append(found.Messages, m)
		}
	}
	for _, d := range all.decisions {
		if fits(fmt.Sprint("decision ", d.Key, d.Result != nil), d) { // the space distinguishes it from the ID of a message
			found.Decisions = append(found.Decisions, d)
		}
	}
	return found
}

// received holds what a run received by updates.
type received struct {
	messages  []agent.QueuedMessage
	decisions []agent.Decision
	// revoked holds the keys of revoked permissions.
	revoked []agent.Key
}

// add adds what another run received.
func (r *received) add(other received) {
	r.messages = append(r.messages, other.messages...)
	r.decisions = append(r.decisions, other.decisions...)
	r.revoked = append(r.revoked, other.revoked...)
}

// relations holds how the other runs of an agent are related to the searching run, which is the run that executes
// [Activities.FindMessages].
type relations struct {
	a *Activities
	// id is the ID of the agent.
	id string
	// read holds what was read, by run ID. The value is nil for a run that is deleted or cannot be read.
	read map[string]*runMessages

	// own holds the messages of the searching run.
	own *runMessages
	// bases holds the base runs. [Activities.FindMessages] adds the runs that continued a base run as new.
	bases []string
	// past holds the predecessors of the searching run: see [Activities.FindMessages]. The state of the searching run has the
	// messages of its predecessors.
	past map[string]bool
}

// trace finds the predecessors and base runs of the searching run (see [Activities.FindMessages]), and fills the fields
// `own`, `bases` and `past`. It begins with the searching run, whose ID is given, and goes back from each run to its
// predecessor. It stops at a run that has no predecessor. It also stops at a predecessor whose history is deleted or cannot
// be read: see [relations.messagesOf].
func (r *relations) trace(ctx context.Context, run string) error {
	t, err := r.a.readMessages(ctx, agent.RunRef{ID: r.id, RunID: run})
	if err != nil {
		return err
	}
	r.own = t
	for t != nil {
		if err := r.addBases(ctx, t); err != nil {
			return err
		}
		if run, err = r.source(ctx, run, t); err != nil || run == "" || r.past[run] {
			return err
		}
		r.past[run] = true
		if t, err = r.messagesOf(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// source returns the ID of a run's predecessor, or "" if there is none. The predecessor is the run of the same agent with
// whose state the given run began. The caller also passes what the history of the given run says about messages.
//
// A run that resumes the agent may not have read the state of its predecessor yet. In this case the result is the ID of the
// run whose state it would read now: see [history.Newest].
func (r *relations) source(ctx context.Context, run string, t *runMessages) (string, error) {
	if !t.unread {
		return cmp.Or(t.resumes, t.continues), nil
	}
	newest, err := r.a.newest(ctx, agent.RunRef{ID: r.id, RunID: t.resumes}, run)
	return newest.RunID, err
}

// addBases adds the base runs of a run to `relations.bases`. These are the runs that the run was reset from. Then addBases
// adds the base runs of these base runs, and so on. The given [runMessages] are those of the run.
func (r *relations) addBases(ctx context.Context, t *runMessages) error {
	for _, base := range t.bases {
		if slices.Contains(r.bases, base) {
			continue
		}
		r.bases = append(r.bases, base)
		b, err := r.messagesOf(ctx, base)
		if err == nil && b != nil {
			err = r.addBases(ctx, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// messagesOf returns what the history of a run says about messages. It reads each run only once. It returns nil if the
// history of the run is deleted. If the history cannot be read for another reason, messagesOf returns an error, so that the
// activity is retried. From attempt number [recallAttempts] on, it returns nil instead, because one unreadable run must not
// stop the agent.
func (r *relations) messagesOf(ctx context.Context, run string) (*runMessages, error) {
	t, known := r.read[run]
	if known {
		return t, nil
	}
	t, err := r.a.readMessages(ctx, agent.RunRef{ID: r.id, RunID: run})
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		t = nil
	case err != nil && ctx.Err() == nil && activity.GetInfo(ctx).Attempt >= recallAttempts:
		r.a.log.WarnContext(ctx, "a run cannot be read; its messages are skipped", "agent", r.id, "run", run, "error", err)
		t = nil
	case err != nil:
		return nil, err
	}
	r.read[run] = t
	return t, nil
}

// runMessages holds what the history of one run says about messages. In the comments of its fields, a search is an execution
// of [Activities.FindMessages] in the run.
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
	// unsearched says that a reset began the run, and that it has not ended a search since. Decisions that it accepts are early.
	unsearched bool
	// listed holds the messages in the lists that searches returned. These messages have only an ID and a time.
	listed []agent.QueuedMessage
	// searches and reads hold the IDs of ActivityTaskScheduled events: searches those of the searches, and reads those of
	// [Activities.ReadAgent].
	searches, reads map[int64]bool
}

// all returns all messages that the history of the run mentions. A message may occur several times. The messages of the field
// `listed` have only an ID and a time.
func (t *runMessages) all() []agent.QueuedMessage {
	return slices.Concat(t.listed, t.found.messages, t.admitted, t.sent.messages)
}

// readMessages reads the history of a run and returns what it says about messages.
func (a *Activities) readMessages(ctx context.Context, from agent.RunRef) (*runMessages, error) {
	t := &runMessages{searches: map[int64]bool{}, reads: map[int64]bool{}, deciding: map[int64]agent.Decision{}}
	for event, err := range history.Events(ctx, a.temporal, from) {
		if err == nil {
			err = t.add(event, a.converter)
		}
		if err != nil {
			return nil, fmt.Errorf("read the messages of run %s: %w", from.RunID, err)
		}
	}
	t.close()
	return t, nil
}

// close adds the decisions that the run had accepted and whose senders it had not told yet at its end. A run that goes on with its state has
// them.
func (t *runMessages) close() {
	for _, accepted := range slices.Sorted(maps.Keys(t.deciding)) {
		t.sent.decisions = append(t.sent.decisions, t.deciding[accepted])
	}
}

// add adds what one event of the run's history says about messages. The data converter decodes the payloads.
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
		if start.Message != nil {
			start.Message.Time = event.GetEventTime().AsTime().UnixMilli()
			t.sent.messages = append(t.sent.messages, *start.Message)
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
	now := event.GetEventTime().AsTime().UnixMilli()
	switch update.GetName() {
	case protocol.MessageUpdate:
		var m agent.QueuedMessage
		if err := dc.FromPayloads(update.GetArgs(), &m); err != nil {
			return err
		}
		m.Time = now
		t.sent.messages = append(t.sent.messages, m)
	case protocol.DecideUpdate:
		var d agent.Decision
		if err := dc.FromPayloads(update.GetArgs(), &d); err != nil {
			return err
		}
		d.Time, d.Early = now, t.unsearched
		t.deciding[event.GetEventId()] = d
	case protocol.RevokeUpdate:
		var key agent.Key
		if err := dc.FromPayloads(update.GetArgs(), &key); err != nil {
			return err
		}
		t.sent.revoked = append(t.sent.revoked, key)
	}
	return nil
}
