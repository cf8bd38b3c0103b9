package agent

import (
	"cmp"
	"slices"
)

// foundAssignment gives the call the sub-agent that it had in another run: see [State.assign].
func (s *State) foundAssignment(c *Call, e CallFound) {
	r, had := e.Record, c.Child != ""
	if c.Waits() || r.Result == nil && r.Child == "" {
		return
	}
	if s.assign(c, r.Child, r.Grant, e.Time); had && c.Child == "" {
		c.Stopped, c.Search = r.Result, true // foundWait gives the call this result
	}
}

func (s *State) foundChild(e CallFound) bool {
	r := e.Record
	call, unanswered := s.callForChild(e.Key)
	if call == nil {
		return false
	}
	child := s.child(call.Child)
	if child == nil {
		return false
	}
	changed := r.Phase != ChildAsked && child.Phase == ChildAsked
	if changed {
		child.Phase = ChildRuns
	}
	if r.Result == nil {
		return changed
	}
	child.After = max(child.After, r.After)
	open := call.Result == nil && unanswered < 0
	if open {
		s.takeToldOfChild(call, child, *r.Result, e.Time)
		changed = true
	} else if len(r.Late) == 0 && !r.Result.Kind.unanswered() {
		r.Late = []RecordedResult{{Result: *r.Result}}
	}
	found := s.foundLate(call, child, r.Late, e.Time)
	if open {
		s.settleStopped(call)
	}
	if unanswered >= 0 && found.answered {
		s.Unanswered = slices.Delete(s.Unanswered, unanswered, unanswered+1)
	}
	if r.Phase.Ended() && !found.elsewhere && child.Phase != ChildHasAnswered && child.Phase != r.Phase {
		s.settleChild(child, r.Spent)
		child.Phase, changed = r.Phase, true
	}
	return changed || found.changed
}

// callForChild returns the call for a sub-agent that has the given key and may still get a result from it; nil if there is none. It
// looks, in this order, for
//
//   - a call in s.Calls that is open, or has what another run told the model and waits for the real result: see [Call.awaitsLate],
//   - a call in s.Unanswered. Only then is `unanswered` its index there. If not, it is -1.
func (s *State) callForChild(key Key) (call *Call, unanswered int) {
	if c := s.call(key); c != nil && c.Child != "" && (c.Result == nil || c.awaitsLate()) {
		return c, -1
	}
	if i := slices.IndexFunc(s.Unanswered, func(c Call) bool { return c.Key == key && c.Child != "" }); i >= 0 {
		return &s.Unanswered[i], i
	}
	return nil, -1
}

// takeToldOfChild gives an open call for a sub-agent the result that another run has told the model.
func (s *State) takeToldOfChild(call *Call, child *Child, r Result, now int64) {
	call.told(r, now)
	call.Failed = r.Kind == NoAnswer
	s.Usage.Recalled++
	if r.Kind.StandsIn() {
		s.detach(child, call)
	} else {
		s.took(call)
	}
}

type lateFound struct {
	changed   bool // a late result has entered the queue
	answered  bool // the call needs no further late result, because it or another call gets the answer of the sub-agent
	elsewhere bool // another call gets one of the late results
}

// foundLate puts the late results that a call got in another run into the queue, unless they are there already or another call gets them.
func (s *State) foundLate(call *Call, child *Child, recorded []RecordedResult, now int64) lateFound {
	var found lateFound
	for _, l := range recorded {
		l.Result.Time = now
		m := late(*call, l.Result, l.After)
		m.Late.For = l.For
		switch {
		case found.answered || call.Failed && l.Result.Kind.IsError():
			continue
		case slices.ContainsFunc(s.Queue, func(waits QueuedMessage) bool { return waits.ID == m.ID }):
			// The event came before.
		case s.isForAnother(l, child):
			found.answered, found.elsewhere = !l.Result.Kind.IsError(), found.elsewhere || l.For != ""
			continue
		default:
			s.insertLateResult(m)
			child.Answered, found.changed = cmp.Or(l.For, call.Key), true
		}
		call.Failed = l.Result.Kind.unanswered()
		found.answered = !call.Failed
	}
	return found
}

func (s *State) isForAnother(l RecordedResult, child *Child) bool {
	if l.For != "" {
		_, made := s.childOf(l.For)
		return made || s.waitsFor(l.For)
	}
	return !l.Result.Kind.IsError() && s.bringsAnswer(child.Key)
}
