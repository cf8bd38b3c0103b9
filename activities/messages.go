package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/protocol"
)

const (
	// maxFoundBytes limits the messages of one page.
	maxFoundBytes = 1_000_000
	// maxOrderBytes limits the list of IDs in the first page. The last IDs are left out, since what is not in the list counts as sent
	// later than all that is.
	maxOrderBytes = 300_000
)

// FindMessages returns messages that other runs of the agent took and that this run may lack, the oldest first, each once. After a
// reset Temporal delivers the messages of the run that was reset again, but not those of other runs. From the runs that this run was
// reset from, FindMessages returns only the messages that they had found themselves, because the reset decided which others are
// delivered again.
func (a *Activities) FindMessages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	beat := a.startHeartbeat(ctx)
	defer beat.stop()
	here := activity.GetInfo(ctx).WorkflowExecution
	others, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	r := &relations{a: a, id: here.ID, read: map[string]*runMessages{}, past: map[string]bool{}}
	if err := r.trace(ctx, here.RunID, in.From); err != nil {
		return protocol.FoundMessages{}, err
	}
	var ofBases, ofOthers, all []agent.InboxMessage
	for _, run := range slices.Backward(others) {
		t, err := r.messagesOf(ctx, run)
		if err != nil {
			return protocol.FoundMessages{}, err
		}
		if t == nil || t.life != r.own.life {
			continue
		}
		all = append(all, t.all()...)
		switch {
		case r.past[run]:
		case slices.Contains(r.bases, run) || len(t.bases) == 0 && slices.Contains(r.bases, t.continues):
			r.bases = append(r.bases, run) // it, or a run that continued it: its messages are delivered again, too
			ofBases = append(ofBases, t.found...)
		default:
			ofOthers = append(append(ofOthers, t.found...), t.messages...)
		}
	}
	found := page(append(ofBases, ofOthers...), in.Skip)
	found.Run = protocol.RunSuffix(here.RunID)
	if in.Skip == 0 {
		found.Order, found.Times = inOrder(append(all, r.own.all()...))
	}
	return found, nil
}

// inOrder returns the IDs of messages and the times at which a run first took them, the oldest first, each once, up to maxOrderBytes. A
// message whose time no history tells, because the run is gone from which Temporal delivered it again, comes before all others.
func inOrder(messages []agent.InboxMessage) (ids []string, times []int64) {
	first := map[string]int64{}
	for _, m := range messages {
		if known := first[m.ID]; known == 0 || m.Time != 0 && m.Time < known {
			first[m.ID] = m.Time
		}
	}
	slices.SortStableFunc(messages, func(a, b agent.InboxMessage) int { return cmp.Compare(first[a.ID], first[b.ID]) })
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

// page returns the messages behind the first skip ones, each once, as many as fit into a page.
func page(messages []agent.InboxMessage, skip int) protocol.FoundMessages {
	var found protocol.FoundMessages
	taken, size := map[string]bool{}, 0
	for _, m := range messages {
		if taken[m.ID] {
			continue
		}
		taken[m.ID] = true
		if len(taken) <= skip {
			continue
		}
		if size += payload.Size(m); size > maxFoundBytes && len(found.Messages) > 0 {
			found.More = true
			return found
		}
		found.Messages = append(found.Messages, m)
	}
	return found
}

// relations holds what is known of the runs of an agent, from the point of view of the run that searches.
type relations struct {
	a    *Activities
	id   string
	read map[string]*runMessages // by run ID; nil for a run that is gone

	own *runMessages // of the run that searches
	// bases are the runs that it was reset from, and the bases of those. The state of the run has the messages of the runs in past,
	// because it, or a base, began with their states.
	bases []string
	past  map[string]bool
}

// trace goes back from the run that searches through the runs that it continues or resumes. From is the run that it resumed.
func (r *relations) trace(ctx context.Context, run, from string) error {
	t, err := r.a.readMessages(ctx, agent.RunRef{ID: r.id, RunID: run})
	if err != nil {
		return err
	}
	r.own = t
	for {
		earlier := cmp.Or(from, t.resumes, t.continues)
		if from = ""; len(t.bases) > 0 || earlier == "" {
			break
		}
		r.past[earlier] = true
		if t, err = r.messagesOf(ctx, earlier); err != nil || t == nil {
			return err
		}
	}
	return r.addBases(ctx, t)
}

// addBases adds the runs that a run was reset from to bases, and the runs that those continue or resume to past.
func (r *relations) addBases(ctx context.Context, t *runMessages) error {
	for _, base := range t.bases {
		if slices.Contains(r.bases, base) {
			continue
		}
		r.bases = append(r.bases, base)
		b, err := r.messagesOf(ctx, base)
		if err != nil {
			return err
		}
		for before := b; before != nil; {
			earlier := cmp.Or(before.resumes, before.continues)
			if earlier == "" || r.past[earlier] {
				break
			}
			r.past[earlier] = true
			if before, err = r.messagesOf(ctx, earlier); err != nil {
				return err
			}
		}
		if b == nil {
			continue
		}
		if err := r.addBases(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// messagesOf returns the messages of a run. It returns nil if the history is gone, or if it could not be read in recallAttempts
// attempts: one such run must not stop the agent.
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
		r.a.log.WarnContext(ctx, "a run cannot be read; its messages are passed over", "agent", r.id, "run", run, "error", err)
		t = nil
	case err != nil:
		return nil, err
	}
	r.read[run] = t
	return t, nil
}

// runMessages holds the events of one run that are about messages.
type runMessages struct {
	life string
	// bases are the runs that it was reset from. It continues one run as new, or resumes one; empty if there is none.
	bases     []string
	continues string
	resumes   string
	// Since the last reset, senders sent messages, and Temporal delivered those in admitted again. The run found those in found in
	// other runs, which may be deleted since. Time is that at which the first run took the message, in Unix milliseconds; 0 if the run
	// was not the first.
	messages, admitted, found []agent.InboxMessage
	// listed holds the IDs and times of the messages that the run's searches listed.
	listed []agent.InboxMessage
	// searches holds the IDs of the events that scheduled its searches.
	searches map[int64]bool
}

// all returns all messages that the run knew, some of them without a text.
func (t *runMessages) all() []agent.InboxMessage {
	return slices.Concat(t.listed, t.found, t.admitted, t.messages)
}

// readMessages reads the history of a run.
func (a *Activities) readMessages(ctx context.Context, from agent.RunRef) (*runMessages, error) {
	t := &runMessages{searches: map[int64]bool{}}
	for event, err := range history.Events(ctx, a.temporal, from) {
		if err == nil {
			err = t.add(event, a.converter)
		}
		if err != nil {
			return nil, fmt.Errorf("messages of run %s: %w", from.RunID, err)
		}
	}
	return t, nil
}

// add adds what an event says about messages.
func (t *runMessages) add(event *historypb.HistoryEvent, dc converter.DataConverter) error {
	if began := event.GetWorkflowExecutionStartedEventAttributes(); began != nil {
		var start agent.Start
		if err := dc.FromPayloads(began.GetInput(), &start); err != nil {
			return err
		}
		t.life = cmp.Or(start.Incarnation, began.GetFirstExecutionRunId())
		t.continues = began.GetContinuedExecutionRunId()
		if start.From != nil && !start.From.Fork {
			t.resumes = start.From.RunID
		}
		if start.Message != nil {
			t.messages = append(t.messages, *start.Message)
			t.messages[0].Time = event.GetEventTime().AsTime().UnixMilli()
		}
	}
	if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == protocol.FindMessages {
		t.searches[event.GetEventId()] = true
	}
	if done := event.GetActivityTaskCompletedEventAttributes(); t.searches[done.GetScheduledEventId()] {
		var page protocol.FoundMessages
		if err := dc.FromPayloads(done.GetResult(), &page); err != nil {
			return err
		}
		t.found = append(t.found, page.Messages...)
		for i, id := range page.Order {
			if i < len(page.Times) {
				t.listed = append(t.listed, agent.InboxMessage{ID: id, Time: page.Times[i]})
			}
		}
	}
	if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" {
		t.bases, t.messages, t.admitted = append(t.bases, base), nil, nil
	}
	for _, in := range []struct {
		update *updatepb.Input
		to     *[]agent.InboxMessage
	}{
		{event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput(), &t.messages},
		{event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest().GetInput(), &t.admitted},
	} {
		if in.update.GetName() != protocol.MessageUpdate {
			continue
		}
		var m agent.InboxMessage
		if err := dc.FromPayloads(in.update.GetArgs(), &m); err != nil {
			return err
		}
		m.Time = 0
		if in.to == &t.messages {
			m.Time = event.GetEventTime().AsTime().UnixMilli()
		}
		*in.to = append(*in.to, m)
	}
	return nil
}
