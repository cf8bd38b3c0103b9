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

// maxFoundBytes bounds the messages of one page.
const maxFoundBytes = 1_000_000

// FindMessages returns the messages that other runs of the agent took and that may be new to this one, the oldest first, each once.
// A reset ends those runs, and Temporal delivers the messages of the run that was reset again, but not those of other runs. Of the
// runs that this one was reset from only those messages count that they found themselves: which of the others are delivered again was
// decided with the reset.
func (a *Activities) FindMessages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	beat := a.startHeartbeat(ctx)
	defer beat.stop()
	here := activity.GetInfo(ctx).WorkflowExecution
	others, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	r := &relations{a: a, id: here.ID, told: map[string]*told{}, past: map[string]bool{}}
	if err := r.trace(ctx, here.RunID, in.From); err != nil {
		return protocol.FoundMessages{}, err
	}
	var redelivered, elsewhere []agent.Incoming
	var order []agent.Incoming
	for _, run := range slices.Backward(others) {
		t, err := r.tell(ctx, run)
		switch {
		case err != nil:
			return protocol.FoundMessages{}, err
		case t == nil || t.life != r.own.life || r.past[run]:
		case slices.Contains(r.bases, run) || len(t.bases) == 0 && slices.Contains(r.bases, t.continues):
			r.bases = append(r.bases, run) // a run that continued it
			redelivered = append(redelivered, t.found...)
			order = append(append(order, t.found...), t.messages...)
		default:
			elsewhere = append(append(elsewhere, t.found...), t.messages...)
		}
	}
	order = slices.Concat(order, r.admitted, elsewhere, r.received)
	found := page(append(redelivered, elsewhere...), in.Skip)
	found.Run = protocol.RunSuffix(here.RunID)
	if in.Skip == 0 {
		for _, m := range order {
			found.Order = append(found.Order, m.ID)
		}
	}
	return found, nil
}

// page returns the messages behind the first skip ones, each once, as many as fit into a page.
func page(messages []agent.Incoming, skip int) protocol.FoundMessages {
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

// relations tell how the runs of an agent are related to the one that asks.
type relations struct {
	a    *Activities
	id   string
	told map[string]*told // nil for a run that is gone

	own *told // what the asking run was told
	// bases are the runs that it was reset from, and those that they were reset from. past are runs whose messages the state has with
	// which it or one of them began.
	bases []string
	past  map[string]bool
	// admitted are the messages that Temporal delivered again, received those that senders brought, to the asking run and to those that
	// it goes on from, since the last reset.
	admitted, received []agent.Incoming
}

// trace follows the asking run back to the runs that it goes on from. From is the one that it resumed.
func (r *relations) trace(ctx context.Context, run, from string) error {
	t, err := r.a.hear(ctx, agent.From{ID: r.id, RunID: run})
	if err != nil {
		return err
	}
	r.own = t
	for {
		r.admitted = append(slices.Clone(t.admitted), r.admitted...)
		r.received = append(slices.Clone(t.messages), r.received...)
		earlier := cmp.Or(from, t.resumes, t.continues)
		if from = ""; len(t.bases) > 0 || earlier == "" {
			break
		}
		r.past[earlier] = true
		if t, err = r.tell(ctx, earlier); err != nil || t == nil {
			return err
		}
	}
	return r.addBases(ctx, t)
}

// addBases adds the runs that a run was reset from, and marks the runs that they go on from.
func (r *relations) addBases(ctx context.Context, t *told) error {
	for _, base := range t.bases {
		if slices.Contains(r.bases, base) {
			continue
		}
		r.bases = append(r.bases, base)
		b, err := r.tell(ctx, base)
		if err != nil {
			return err
		}
		for before := b; before != nil; {
			earlier := cmp.Or(before.resumes, before.continues)
			if earlier == "" || r.past[earlier] {
				break
			}
			r.past[earlier] = true
			if before, err = r.tell(ctx, earlier); err != nil {
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

// tell returns what a run was told; nil where its history is gone, or could not be read for so long that it is passed over.
func (r *relations) tell(ctx context.Context, run string) (*told, error) {
	t, known := r.told[run]
	if known {
		return t, nil
	}
	t, err := r.a.hear(ctx, agent.From{ID: r.id, RunID: run})
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		t = nil
	case err != nil && ctx.Err() == nil && activity.GetInfo(ctx).Attempt >= recallAttempts:
		r.a.log.WarnContext(ctx, "a run cannot be read; its messages are passed over", "agent", r.id, "run", run, "error", err)
		t = nil
	case err != nil:
		return nil, err
	}
	r.told[run] = t
	return t, nil
}

// told is the part of a run's history that is about messages.
type told struct {
	life string
	// bases are the runs that it was reset from, continues the one that continued as this one, and resumes the one that it resumed.
	bases     []string
	continues string
	resumes   string
	// messages are those that senders brought to it since the last reset, and admitted those that Temporal delivered again. found are
	// those that it found in other runs, which may be deleted since.
	messages, admitted, found []agent.Incoming
	// searches are the events that scheduled its searches for messages.
	searches map[int64]bool
}

// hear reads what a run was told.
func (a *Activities) hear(ctx context.Context, from agent.From) (*told, error) {
	t := &told{searches: map[int64]bool{}}
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

// add takes an event of the run.
func (t *told) add(event *historypb.HistoryEvent, dc converter.DataConverter) error {
	if began := event.GetWorkflowExecutionStartedEventAttributes(); began != nil {
		var start agent.Start
		if err := dc.FromPayloads(began.GetInput(), &start); err != nil {
			return err
		}
		t.life = cmp.Or(start.Life, began.GetFirstExecutionRunId())
		t.continues = began.GetContinuedExecutionRunId()
		if start.From != nil && !start.From.Fork {
			t.resumes = start.From.RunID
		}
		if start.Message != nil {
			t.messages = append(t.messages, *start.Message)
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
	}
	if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" {
		t.bases, t.messages, t.admitted = append(t.bases, base), nil, nil
	}
	for _, in := range []struct {
		update *updatepb.Input
		to     *[]agent.Incoming
	}{
		{event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput(), &t.messages},
		{event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest().GetInput(), &t.admitted},
	} {
		if in.update.GetName() != protocol.MessageUpdate {
			continue
		}
		var m agent.Incoming
		if err := dc.FromPayloads(in.update.GetArgs(), &m); err != nil {
			return err
		}
		*in.to = append(*in.to, m)
	}
	return nil
}
