package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/protocol"
)

// maxFoundBytes bounds the messages of one page.
const maxFoundBytes = 1_000_000

// FindMessages returns the messages that other runs of the agent took, the oldest first. A reset ends those runs,
// and Temporal delivers the messages of the run that was reset again, but not those of other runs. Of the runs
// that this one was reset from only those messages count that they found themselves: which of the others are delivered again was
// decided with the reset.
func (a *Activities) FindMessages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	beat := a.startHeartbeat(ctx)
	defer beat.stop()
	here := activity.GetInfo(ctx).WorkflowExecution
	others, err := a.earlier(ctx, here.ID, here.RunID)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	own, err := a.told(ctx, agent.From{ID: here.ID, RunID: here.RunID})
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	received, redelivered, err := a.lineage(ctx, here, own, in.From)
	if err != nil {
		return protocol.FoundMessages{}, err
	}
	found := protocol.FoundMessages{Run: protocol.RunSuffix(here.RunID)}
	for _, m := range received {
		found.Received = append(found.Received, m.ID)
	}
	skip, size := in.Skip, 0
	for _, run := range slices.Backward(others) {
		t, err := a.told(ctx, agent.From{ID: here.ID, RunID: run})
		if errors.As(err, new(*serviceerror.NotFound)) {
			continue
		}
		if err != nil {
			return protocol.FoundMessages{}, err
		}
		messages := t.found
		if slices.Contains(redelivered, run) || slices.Contains(redelivered, t.continues) {
			redelivered = append(redelivered, run)
		} else {
			messages = append(messages, t.messages...)
		}
		if t.life != own.life {
			continue
		}
		for _, m := range messages {
			if skip--; skip >= 0 {
				continue
			}
			if size += payload.Size(m); size > maxFoundBytes && len(found.Messages) > 0 {
				found.More = true
				return found, nil
			}
			found.Messages = append(found.Messages, m)
		}
	}
	return found, nil
}

// lineage returns the messages that senders brought to a run and to those it goes on from, back to the last one that began by a
// reset, and the runs that this one was reset from.
func (a *Activities) lineage(ctx context.Context, here workflow.Execution, own told, from string) (messages []agent.Incoming, bases []string, err error) {
	for {
		messages = append(slices.Clone(own.messages), messages...)
		earlier := cmp.Or(from, own.continues)
		if len(own.bases) > 0 || earlier == "" {
			return messages, own.bases, nil
		}
		own, err = a.told(ctx, agent.From{ID: here.ID, RunID: earlier})
		if errors.As(err, new(*serviceerror.NotFound)) {
			return messages, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		from = own.resumes
	}
}

// told is the part of a run's history that is about messages.
type told struct {
	life string
	// bases are the runs that it was reset from, continues the one that continued as this one, and resumes the one that it resumed.
	bases     []string
	continues string
	resumes   string
	// messages are those that senders brought to it, and found those that it found in other runs, which may be deleted since.
	messages, found []agent.Incoming
	// searches are the events that scheduled its searches for messages.
	searches map[int64]bool
}

// told reads what a run was told itself: not what it has from a run that it was reset from.
func (a *Activities) told(ctx context.Context, from agent.From) (told, error) {
	t := told{searches: map[int64]bool{}}
	for event, err := range history.Events(ctx, a.temporal, from) {
		if err != nil {
			return t, fmt.Errorf("messages of run %s: %w", from.RunID, err)
		}
		if err := a.hear(&t, event); err != nil {
			return t, fmt.Errorf("messages of run %s: %w", from.RunID, err)
		}
	}
	return t, nil
}

func (a *Activities) hear(t *told, event *historypb.HistoryEvent) error {
	if began := event.GetWorkflowExecutionStartedEventAttributes(); began != nil {
		var start agent.Start
		if err := a.converter.FromPayloads(began.GetInput(), &start); err != nil {
			return err
		}
		if t.life = start.Life; t.life == "" {
			t.life = began.GetFirstExecutionRunId()
		}
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
		if err := a.converter.FromPayloads(done.GetResult(), &page); err != nil {
			return err
		}
		t.found = append(t.found, page.Messages...)
	}
	if base := event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" {
		t.bases, t.messages = append(t.bases, base), nil
	}
	if in := event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput(); in.GetName() == protocol.MessageUpdate {
		var m agent.Incoming
		if err := a.converter.FromPayloads(in.GetArgs(), &m); err != nil {
			return err
		}
		t.messages = append(t.messages, m)
	}
	return nil
}
