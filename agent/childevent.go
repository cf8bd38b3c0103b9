package agent

import "slices"

func (e CallBegan) apply(s *State) bool {
	c := s.call(e.Key)
	if c == nil || c.Child == "" || c.Result != nil || c.Began != 0 {
		return false
	}
	c.Began = e.Time
	return true
}

func (e ChildStarted) apply(s *State) bool {
	child := s.child(e.Key)
	if child == nil || child.Phase != ChildAsked {
		return false
	}
	child.Phase = ChildRuns
	return true
}

// ended reports whether the result r brings nothing new, because the parent already knows the end of the sub-agent. After a failure, an
// answer is new, because a failed sub-agent may be resumed and then answer.
func (c *Child) ended(r Result) bool {
	return c.Phase == ChildHasAnswered || c.Phase == ChildHasFailed && r.Kind.IsError()
}

// Knows reports whether the driver need not apply the event e, because it brings nothing new: the state has already recorded this end of
// the sub-agent, and no open call waits for the sub-agent.
func (s *State) Knows(e ChildFinished) bool {
	child := s.child(e.Key)
	return child != nil && child.ended(e.Result) &&
		!slices.ContainsFunc(s.Pending(), func(c Call) bool { return c.Child == e.Key })
}

// apply gives the result of a sub-agent to the waiting calls in `s.Calls`. If none of them takes the result, the newest call that
// may still get a late result gets it: see [State.repairLater]. The failure of a sub-agent that is being cancelled becomes no late result.
// A failed sub-agent may be resumed and then answer. The answer replaces the failure. If the failure is already in the transcript, the
// answer becomes a late result. apply reports whether the state has changed.
func (e ChildFinished) apply(s *State) bool {
	child := s.child(e.Key)
	if child == nil {
		return false
	}
	failed, known := e.Result.Kind.IsError(), child.ended(e.Result)
	changed := false
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Child == e.Key && s.answer(c, e.Result) {
			changed = true
			child.Answered = c.Key
		}
	}
	if e.Reattached && (changed || !known) {
		s.Usage.Reattached++
	}
	switch {
	case changed:
		child.attach()
	case known && e.Result.Time != 0 && e.Result.Time == child.LateTime:
		// The same result, a second time, is for no other call.
	case failed && child.Attachment == ChildCancelling:
		// The model was told that the sub-agent is being stopped.
	case !known || child.Attachment != ChildAttached:
		if changed = s.repairLater(child, e.Result, func(c *Call) bool { return c.Child == e.Key }); changed {
			child.LateTime = e.Result.Time
		}
	}
	if !failed {
		// Only one of several unanswered calls gets the late result. The other calls no longer wait for one.
		s.Unanswered = slices.DeleteFunc(s.Unanswered, func(c Call) bool { return c.Child == e.Key })
	}
	changed = changed || !known
	if !known {
		s.settleChild(child, e.Spent)
		child.Phase = ended(failed)
	}
	s.advanceTranscript(e.Result.Time)
	return changed
}

func (e ChildGivenUp) apply(s *State) bool {
	child := s.child(e.Key)
	if child == nil || child.Phase.Ended() {
		return false
	}
	changed := false
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Child == e.Key && c.Result == nil && c.Stopped == nil {
			s.stop(c, Result{Content: textChildWorksOn(e.Why, child.Key.Handle()), Kind: WorksOn, Time: e.Time})
			changed = true
		}
	}
	if changed {
		s.advanceTranscript(e.Time)
	}
	return changed
}
