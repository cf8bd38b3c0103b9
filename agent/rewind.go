package agent

import "slices"

// MayRecall reports whether an earlier run of the agent may have the result of the operation with the given key: see [Key]. If so, the
// driver searches the histories of earlier runs for the result. If not, the operation is new, and the driver reads no histories, which
// need not exist any more.
func (s *State) MayRecall(key Key) bool { return s.Recall || slices.Contains(s.Reopened, key) }

// apply records that this run began by a reset of an earlier run. It returns false if this reset was recorded before.
//
//   - The earlier run may have received the messages in the queue, too, so apply clears the field Fresh in all of them, and may set
//     Brought: see [QueuedMessage].
//   - The earlier run may have carried out the operations (see [Key]) that the agent asks for next, so apply sets `s.Recall`, and the
//     driver searches earlier runs for their results.
//   - Other runs may have better results of calls in s.Calls: see [State.doubt].
func (e Rewound) apply(s *State) bool {
	if s.Reset == e.Run {
		return false
	}
	// Brought places the messages before those that a search of other runs finds. While an earlier search is still to be
	// done, other runs may have messages that are older than some in the queue, so the search determines the order.
	searched := s.Reset == s.Searched
	s.Reset, s.Recall = e.Run, true
	// The earlier run may have stopped the model call that is in flight, and have put a message into the request. A message that
	// came during the call, and was to wait for its reply, still waits: see QueuedMessage.After.
	s.InFlight = ""
	s.doubt()
	for i := range s.Queue {
		s.Queue[i].Fresh = false
		s.Queue[i].Brought = s.Queue[i].Brought || searched
	}
	return true
}

// doubt removes those results in s.Calls that a better one may still replace: see [ResultKind.unanswered]. Another run may have got the
// better result, and have told the model that one. So the driver asks the other runs first. Meanwhile, the removed result is in
// [Call].Stopped. A result that another run has told the model stays: see [Call].Told.
func (s *State) doubt() {
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Result == nil || c.Told || !c.Result.Kind.unanswered() {
			continue
		}
		if child := s.child(c.Child); child != nil && c.Result.Kind.StandsIn() {
			child.attach() // until the call has its result: see [State.stop]
		}
		c.Stopped, c.Search, c.Result = c.Result, true, nil
	}
}

// apply puts the messages that a search found in other runs into the queue. Each message comes before those
// that were sent later. A message that the agent has already received is left out. The field After of each found
// message becomes 0, because the number refers to another run. Found decisions are applied to the calls that wait for
// them, or when such a call begins to wait. apply returns false if the state already has the result of this
// search.
func (e MessagesFound) apply(s *State) bool {
	if s.Searched == e.Run {
		return false
	}
	s.Searched = e.Run
	s.Searches++
	place := map[string]int{}
	for i, id := range slices.Backward(e.Order) { // the first place of an ID counts
		place[id] = i
	}
	placeOf := func(m QueuedMessage) int {
		at, known := place[m.ID]
		switch {
		case m.Brought:
			return -1
		case !known:
			return len(e.Order)
		}
		return at
	}
	for i := range s.Queue {
		s.place(&s.Queue[i], e.Places)
	}
	for _, m := range e.Messages {
		m.Fresh, m.Brought, m.Found, m.After = false, false, true, 0
		s.place(&m, e.Places)
		var later []QueuedMessage
		if i := slices.IndexFunc(s.Queue, func(waits QueuedMessage) bool { return waits.Late == nil && placeOf(waits) > placeOf(m) }); i >= 0 {
			later = slices.Clone(s.Queue[i:])
			s.Queue = s.Queue[:i]
		}
		MessageReceived{Message: m, Time: e.Time}.apply(s)
		s.Queue = append(s.Queue, later...)
	}
	for _, key := range e.Revoked { // before the decisions, because one of them may give the permission
		PermissionRevoked{Key: key}.apply(s)
	}
	for _, d := range e.Decisions {
		// Somebody may have decided in this run before its search has ended. The decision of the other run was earlier.
		s.Decisions = slices.DeleteFunc(s.Decisions, func(own Decision) bool { return !own.Used && own.decides(d) })
		Decided{Decision: d, Time: e.Time}.apply(s)
	}
	if s.Definition != nil {
		waited := s.waitsOutside()
		s.settleAll(e.Time)
		s.settleTexts(e.Time)
		for i := range s.Decisions {
			s.giveLate(i, e.Time)
		}
		if waited {
			s.restartTurn(e.Time)
		}
		s.advanceTranscript(e.Time)
	}
	return true
}

// reopen records in `s.Reopened` the keys of the operations (see [Key]) that a resumed agent asks for first. The run
// that ended may already have carried out these operations. Therefore the driver looks for their results: see
// [State.MayRecall].
func (s *State) reopen() {
	s.Reopened = nil
	for _, c := range s.Pending() {
		s.Reopened = append(s.Reopened, c.Key)
		if c.Child != "" {
			s.Reopened = append(s.Reopened, c.Child)
		}
	}
	switch step := s.next().(type) {
	case Load:
		s.Reopened = append(s.Reopened, step.Key)
	case ResolveOverrides:
		s.Reopened = append(s.Reopened, step.Key)
	case CallModel:
		s.Reopened = append(s.Reopened, step.Key)
	case Compact:
		s.Reopened = append(s.Reopened, step.Key)
	case CheckText:
		s.Reopened = append(s.Reopened, step.Key)
	}
}
