package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
)

// relations holds how the other runs of an agent are related to the searching run, which is the run that executes
// [Reader.Messages].
type relations struct {
	reader *Reader
	id     string
	// read holds what was read, by run ID. The value is nil for a run that is deleted or cannot be read.
	read map[string]*runMessages

	own *runMessages
	// bases holds the base runs. [Reader.Messages] adds the runs that continued a base run as new.
	bases []string
	// past holds the predecessors of the searching run: see [Reader.Messages]. The state of the searching run has the
	// messages of its predecessors.
	past map[string]bool
}

// trace finds the predecessors and base runs of the searching run (see [Reader.Messages]), and fills the fields `own`, `bases`
// and `past`. It begins with the searching run, whose ID is `run`, and goes back from each run to its predecessor. It stops at a
// run that has no predecessor, and at a predecessor whose history is deleted or cannot be read: see [relations.messagesOf].
func (r *relations) trace(ctx context.Context, run string) error {
	t, err := r.reader.readMessages(ctx, agent.RunRef{ID: r.id, RunID: run})
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
// whose state the given run began. `t` is what the history of the given run says about messages.
//
// A run that resumes the agent may not have read the state of its predecessor yet. In this case the result is the ID of the
// run whose state it would read now: see [history.Newest].
func (r *relations) source(ctx context.Context, run string, t *runMessages) (string, error) {
	if !t.unread {
		return cmp.Or(t.resumes, t.continues), nil
	}
	newest, err := r.reader.newest(ctx, agent.RunRef{ID: r.id, RunID: t.resumes}, run)
	return newest.RunID, err
}

// addBases adds to the field `bases` the runs that a run was reset from, the base runs of these base runs, and so on. `t` is what
// the history of the run says about messages.
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
	t, err := r.reader.readMessages(ctx, agent.RunRef{ID: r.id, RunID: run})
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		t = nil
	case err != nil && ctx.Err() == nil && activity.GetInfo(ctx).Attempt >= recallAttempts:
		r.reader.log.WarnContext(ctx, "a run cannot be read; its messages are skipped", logs.Agent, r.id, logs.Run, run, "error", err)
		t = nil
	case err != nil:
		return nil, err
	}
	r.read[run] = t
	return t, nil
}
