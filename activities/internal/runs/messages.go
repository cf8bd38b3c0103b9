package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// maxFoundBytes limits the messages and decisions of one page, in bytes. A larger message or decision gets a page of its own.
	maxFoundBytes = 1_000_000
	// maxOrderBytes limits the IDs and times in the first page, in bytes. If there are too many messages, the newest are left
	// out of the list. The package `agent` treats a message that is not in the list as newer than all messages in the list.
	maxOrderBytes = 300_000
	// maxPlacesBytes limits the places in the first page, in bytes. If there are too many, those that come last in the transcripts
	// are left out. A message without a place enters the transcript at the end of a turn.
	maxPlacesBytes = 300_000
)

// Messages returns one page of the messages, decisions and revoked permissions that an agent may lack after a reset, because other
// runs of the agent received them. The run whose activity calls Messages is called the searching run. What follows about messages
// also holds for decisions and revoked permissions.
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
//   - A predecessor: Messages returns none of its messages, because the state of the searching run has them.
//   - A base run, or a run that continued a base run as new: Messages returns only the messages that this run had itself
//     found in other runs. The reset has already decided which of its other messages are delivered again. Of decisions,
//     Messages returns all, so that the agent knows which of those that come are delivered again.
//   - A run of an earlier agent that had the same ID: Messages returns none of its messages. Such a run has another
//     incarnation: see [agent.Identity].
//   - Any other run: Messages returns the messages that senders sent to this run, and the messages that this run had
//     found in other runs.
//
// Each message and each revoked permission occurs once. Of several decisions of one kind on a call, only the first occurs. The
// messages of base runs, and of runs that continued a base run as new, come first. The messages of all other runs follow. Within
// both groups, the messages of older runs come first. All decisions follow in the same order.
func (r *Reader) Messages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	here := activity.GetInfo(ctx).WorkflowExecution
	others, err := r.earlier(ctx)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	rel := &relations{reader: r, id: here.ID, read: map[string]*runMessages{}, past: map[string]bool{}}
	if err := rel.trace(ctx, here.RunID); err != nil {
		return protocol.FoundMessages{}, err
	}
	var ofBases, ofOthers received
	var all []agent.QueuedMessage
	var foreign []string // the runs whose transcripts the searching run does not continue, oldest first
	for _, run := range slices.Backward(others) {
		t, err := rel.messagesOf(ctx, run)
		if err != nil {
			return protocol.FoundMessages{}, err
		}
		if t == nil || t.incarnation != rel.own.incarnation {
			continue
		}
		all = append(all, t.all()...)
		if !rel.past[run] {
			foreign = append(foreign, run)
		}
		// Temporal delivers the messages of a base run again, and also the messages of a run that continued a base run.
		switch {
		case rel.past[run]:
		case slices.Contains(rel.bases, run) || len(t.bases) == 0 && slices.Contains(rel.bases, t.continues):
			rel.bases = append(rel.bases, run) // a run that continued this run counts as a base run, too
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
		found.Order, found.Times = inOrder(append(all, rel.own.all()...))
		found.Revoked = slices.Compact(slices.Sorted(slices.Values(ofBases.revoked)))
		if found.Places, err = r.places(ctx, here.ID, foreign, found.Order, in.Count); err != nil {
			return protocol.FoundMessages{}, err
		}
	}
	return found, nil
}

// places returns where the given runs, oldest first, have put messages into their transcripts: see [agent.AddPlaces]. The result has
// only messages with the given IDs, and only places behind at least `count` messages.
func (r *Reader) places(ctx context.Context, id string, runs, messages []string, count int) (map[string]agent.Place, error) {
	places := map[string]agent.Place{}
	for _, run := range runs {
		s, err := r.lastState(ctx, agent.RunRef{ID: id, RunID: run})
		if err != nil {
			return nil, fmt.Errorf("read the places of messages in run %s: %w", run, err)
		}
		if s != nil {
			agent.AddPlaces(places, s.Places())
		}
	}
	return needed(places, messages, count), nil
}

// needed returns those of the places that belong to the messages with the given IDs and are behind at least `count` messages. If they
// have more than [maxPlacesBytes] bytes together, it leaves out the last places.
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
// Each ID occurs once. If the IDs and times together have more than [maxOrderBytes] bytes, inOrder leaves out the newest
// messages. A message whose time is unknown, for example because the run that took it is deleted, has the time 0 and comes
// first.
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
// pages had. The page begins after these, and has as many as fit. The field `More` of the result says whether there are more.
//
// If several messages have the same ID, only the first of them counts. The same holds for decisions of one kind on one call: a
// decision with a result from outside is one kind, and any other decision is the other kind.
func page(all received, skip int) protocol.FoundMessages {
	var found protocol.FoundMessages
	taken, size := map[string]bool{}, 0
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

// received holds what runs received by updates, in the order in which they came.
type received struct {
	messages  []agent.QueuedMessage
	decisions []agent.Decision
	revoked   []agent.Key
}

func (r *received) add(other received) {
	r.messages = append(r.messages, other.messages...)
	r.decisions = append(r.decisions, other.decisions...)
	r.revoked = append(r.revoked, other.revoked...)
}
