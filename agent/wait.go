package agent

import "slices"

// CallWait is what a call waits for outside the agent. The zero CallWait means that it waits for nobody. A call that needs an approval
// and then a result from outside has two waits, one after the other. When the agent stops waiting for a call, the call keeps its
// CallWait.
type CallWait struct {
	// For is [WaitsForApproval], [WaitsForAnswer] or [WaitsForResult].
	For WaitsFor `json:"for,omitempty"`
	// Until is the time at which the wait ends, in Unix milliseconds. 0 means that the wait has no limit.
	Until int64 `json:"until,omitempty"`
	// Notified reports whether the agent has made a [Notification] about the wait.
	Notified bool `json:"notified,omitempty"`
}

// Waited says that a call has begun to wait for somebody outside. A wait that a permission, or a decision that has come before, ends at
// once is none.
type Waited struct {
	// For is [WaitsForApproval], [WaitsForAnswer] or [WaitsForResult].
	For WaitsFor `json:"for"`
	// Key is the key that the call had then. A decision names it.
	Key Key `json:"key"`
	// Round is the number of the event after which the wait began, among the events after which calls of the same reply began to wait. It
	// counts from 1. So waits with the same number began together.
	Round int `json:"round"`
}

// waited adds what the call waits for to [Call].Waited, unless it is there. The number of the round is still to be set.
func (c *Call) waited() {
	begun := Waited{For: c.Wait.For, Key: c.Key}
	if c.Wait.For != "" && !slices.ContainsFunc(c.Waited, func(w Waited) bool { return w.For == begun.For && w.Key == begun.Key }) {
		c.Waited = append(slices.Clip(c.Waited), begun) // a copy of the state may share the old ones
	}
}

// recordWaits records the waits that have begun with the event just applied: see [Call].Waited. A call about which the driver asks other
// runs does not wait yet, because one of them may have its result.
func (s *State) recordWaits() {
	if s.unsearched() {
		return
	}
	round := 0
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Waits() && !c.Search {
			c.waited()
		}
		for j := range c.Waited {
			if c.Waited[j].Round != 0 {
				continue
			}
			if round == 0 {
				round = s.nextRound()
			}
			c.Waited[j].Round = round
		}
	}
}

// nextRound returns a number that is greater than [Waited].Round of all calls.
func (s *State) nextRound() int {
	last := 0
	for _, c := range s.Calls {
		if n := len(c.Waited); n > 0 {
			last = max(last, c.Waited[n-1].Round)
		}
	}
	return last + 1
}

// Waits reports whether an open call waits for somebody outside the agent: for a decision, for the result of an
// external call, or for the answer to a question.
func (c *Call) Waits() bool { return c.Result == nil && c.Wait.For != "" }

// external reports whether the call waits for its result from outside or for the answer to a question, not for an approval.
func (c *Call) external() bool { return c.Waits() && c.Wait.For.kind().result }

func (c *Call) asksApproval() bool { return c.Waits() && !c.Wait.For.kind().result }

// handed reports whether the call is one that somebody outside carries out, also when the agent has stopped waiting for it.
func (c *Call) handed() bool { return c.Wait.For.kind().handed }

func (s *State) waitsOutside() bool {
	return s.AsksAboutText() || slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Waits() })
}

// settle applies what the state knows about a call that begins to wait for somebody outside, or has begun. The order matters:
//
//  1. A decision on the call, or its result from outside. After a reset, Temporal delivers it before the call exists.
//  2. A permission for such calls: see [Permission].
//  3. What another run knows of the call: see [Call].Search. So a call that has run, or whose wait has ended, is not asked about
//     again, even if its permission was revoked since.
//
// Before the search of other runs, settle does nothing, because the search may bring a denial or a revocation. A decision that somebody
// has made meanwhile, and that no other run knows, comes after 3.
func (s *State) settle(c *Call, now int64) {
	if s.unsearched() || c.Stopped != nil {
		return
	}
	if slices.ContainsFunc(s.Decisions, func(d Decision) bool { return d.Early && !d.Used && d.Key == c.Key }) && s.Recall {
		c.Search = true
		return
	}
	s.applyEarlier(c, now)
	s.applyPermission(c, now)
	s.applyEarlier(c, now) // a call that needed an approval may wait for its result now
	if c.Waits() && s.Recall {
		c.Search = true
	}
}

func (s *State) settleAll(now int64) {
	for i := range s.Calls {
		if s.Calls[i].Waits() {
			s.settle(&s.Calls[i], now)
		}
	}
}

// hand makes an external call (see [EffectExternal]) wait for its result from outside.
func (s *State) hand(c *Call, tool Tool, now int64) {
	what, problem := WaitsForResult, ""
	if c.Name == AskUser {
		what, problem = WaitsForAnswer, checkQuestion(c.Arguments)
	}
	c.wait(what, tool, now)
	if problem != "" {
		c.Result = &Result{Content: textBadQuestion(problem), Kind: Errored, Time: now}
		return
	}
	s.settle(c, now)
}

// wait makes the call wait from now on, for at most as long as its tool allows.
func (c *Call) wait(what WaitsFor, tool Tool, now int64) {
	c.Wait = CallWait{For: what, Until: until(now, what.kind().limit(tool))}
}

// until returns the end of a wait of `ms` milliseconds that begins now; 0 if ms is 0, which means that the wait has no limit.
func until(now, ms int64) int64 {
	if ms == 0 {
		return 0
	}
	return now + ms
}

// WaitDeadline returns the earliest time at which the wait for somebody outside reaches its limit, in Unix milliseconds. It returns 0 if
// no call waits, or if no such wait has a limit. A wait has no limit as long as the driver has to ask other runs about the call.
func (s *State) WaitDeadline() int64 {
	deadline := int64(0)
	if s.unsearched() {
		return 0
	}
	for _, c := range s.Calls {
		if c.Waits() && !c.Search && c.Wait.Until != 0 && (deadline == 0 || c.Wait.Until < deadline) {
			deadline = c.Wait.Until
		}
	}
	return deadline
}

// apply ends the waits that have reached their limits: see [State.WaitDeadline]. A call that waits for an approval is denied, and any
// other call gets an error result.
func (e WaitEnded) apply(s *State) bool {
	changed := false
	for i := range s.Calls {
		c := &s.Calls[i]
		if !c.Waits() || c.Search || s.unsearched() || c.Wait.Until == 0 || c.Wait.Until > e.Time || s.Definition == nil {
			continue
		}
		tool, _ := s.Definition.Tool(c.Name)
		kind := c.Wait.For.kind()
		c.Result = &Result{Content: kind.overdue(kind.limit(tool)), Kind: Errored, Time: e.Time}
		changed = true
	}
	if changed {
		s.restartTurn(e.Time)
		s.advanceTranscript(e.Time)
	}
	return changed
}

// restartWaits lets the limits of all waits begin again, because the time in which the agent did not run does not count.
func (s *State) restartWaits(now int64) {
	if s.Definition == nil {
		return
	}
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Waits() {
			tool, _ := s.Definition.Tool(c.Name)
			c.Wait.Until = until(now, c.Wait.For.kind().limit(tool))
		}
	}
}
