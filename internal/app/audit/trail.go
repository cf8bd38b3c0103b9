// Package audit makes the audit trail of agents from their Temporal histories: who asked, what a model proposed, who allowed it with which
// arguments, what ran and what came back. It is a pure function of the histories. It also checks a copy of a trail.
package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/internal/app/object"
)

// Scope says what a trail is about.
type Scope struct {
	// ID is the agent whose trail it is, with its sub-agents. Empty means all agents.
	ID string
	// Since leaves out the lines of earlier times. The zero time leaves out none.
	Since time.Time
}

// Trail writes the lines of a trail, each with the hash of the line before. Use it from one goroutine.
type Trail struct {
	scope Scope
	tell  func(object.AuditLine) error

	line  int
	hash  string
	reads []object.AuditLine
}

// Begin writes the first line of a trail. The trail calls `tell` with each line, in order. The present time is `now`.
func Begin(scope Scope, now time.Time, tell func(object.AuditLine) error) (*Trail, error) {
	t := &Trail{scope: scope, tell: tell}
	first := object.AuditLine{Act: trailBegins, ID: scope.ID, Time: object.Time(now)}
	if !scope.Since.IsZero() {
		first.Since = object.Time(scope.Since)
	}
	return t, t.write(first)
}

// Add writes the lines of one agent. The runs are all runs of its ID that Temporal still has, also those that a reset has ended, in any order.
//
// What a reset has copied into a later run has happened in the earlier run. It is told once: from the history of the earlier run, or from the
// copy if Temporal has deleted that history.
func (t *Trail) Add(runs []Run) error {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(a.Events[a.began()].GetEventTime().AsTime().Compare(b.Events[b.began()].GetEventTime().AsTime()), cmp.Compare(a.RunID, b.RunID))
	})
	there := map[string]bool{}
	for _, r := range runs {
		there[r.RunID] = true
	}
	copies := map[string]bool{}
	for _, r := range runs {
		entries, err := r.entries()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.copied && (there[e.RunID] || copies[e.origin()]) {
				continue
			}
			copies[e.origin()] = true
			if time.Time(e.Time).Before(t.scope.Since) {
				continue
			}
			if err := t.write(e.AuditLine); err != nil {
				return err
			}
		}
		last := r.Events[len(r.Events)-1]
		t.reads = append(t.reads, object.AuditLine{Act: historyRead, ID: r.ID, RunID: r.RunID, Event: int(last.GetEventId())})
	}
	return nil
}

// origin is the same for an event and its copies.
func (e entry) origin() string {
	if e.update != "" {
		return e.update
	}
	e.RunID = ""
	return substance(e.AuditLine)
}

// End writes the last lines, and returns the hash of the last one. Whoever keeps this hash elsewhere can tell later that a copy is the same.
func (t *Trail) End() (hash string, err error) {
	for _, l := range t.reads {
		if err := t.write(l); err != nil {
			return "", err
		}
	}
	err = t.write(object.AuditLine{Act: trailEnds})
	return t.hash, err
}

func (t *Trail) write(l object.AuditLine) error {
	t.line++
	l = seal(l, t.line, t.hash)
	t.hash = l.Hash
	return t.tell(l)
}
