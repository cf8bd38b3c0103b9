package agent

import "slices"

// MayRecall reports whether an earlier run of the agent may have had the effect with the given key. If it returns
// false, the effect is new: the driver searches no histories, so it does not matter whether they still exist.
func (s *State) MayRecall(key Key) bool { return s.Recall || slices.Contains(s.Reopened, key) }

// rewound records that this run began by a reset. It returns false if this was recorded before. The run that was reset
// may already have carried out the effects that the agent asks for next, and received the messages in the inbox. So
// rewound sets s.Recall, and it clears Fresh in all messages.
//
// Unless an earlier reset still needs a search for messages of other runs, rewound also sets Brought in all messages.
// Brought places them before the messages that a search finds. While a search is needed, other runs may have messages
// that are older than some in the inbox, so the search determines the order.
func (s *State) rewound(e Rewound) bool {
	if s.Reset == e.Run {
		return false
	}
	searched := s.Reset == s.Searched
	s.Reset, s.Recall = e.Run, true
	for i := range s.Inbox {
		s.Inbox[i].Fresh = false
		s.Inbox[i].Brought = s.Inbox[i].Brought || searched
	}
	return true
}

// messagesFound puts each found message that the agent has not received into the inbox, before the messages that were
// sent later. It sets After to 0 in the found messages, because After counts messages in the transcript of the other
// run. It returns false if the state already has the messages of this search.
func (s *State) messagesFound(e MessagesFound) bool {
	if s.Searched == e.Run {
		return false
	}
	s.Searched = e.Run
	s.Searches++
	place := map[string]int{}
	for i, id := range slices.Backward(e.Order) { // the first place of an ID counts
		place[id] = i
	}
	placeOf := func(m InboxMessage) int {
		at, known := place[m.ID]
		switch {
		case m.Brought:
			return -1
		case !known:
			return len(e.Order)
		}
		return at
	}
	for _, m := range e.Messages {
		m.Fresh, m.Brought, m.Found, m.After = false, false, true, 0
		var later []InboxMessage
		if i := slices.IndexFunc(s.Inbox, func(waits InboxMessage) bool { return waits.Late == nil && placeOf(waits) > placeOf(m) }); i >= 0 {
			later = slices.Clone(s.Inbox[i:])
			s.Inbox = s.Inbox[:i]
		}
		s.messageReceived(MessageReceived{Message: m, Time: e.Time})
		s.Inbox = append(s.Inbox, later...)
	}
	return true
}

// reopen sets s.Reopened to the keys of the effects that the agent asks for when it is resumed. The run that ended may
// already have had these effects: see [State.MayRecall].
func (s *State) reopen() {
	s.Reopened = nil
	for _, c := range s.openCalls() {
		s.Reopened = append(s.Reopened, c.Key)
		if c.Child != "" {
			s.Reopened = append(s.Reopened, c.Child)
		}
	}
	switch step := s.Next().(type) {
	case Load:
		s.Reopened = append(s.Reopened, step.Key)
	case CallModel:
		s.Reopened = append(s.Reopened, step.Key)
	case Compact:
		s.Reopened = append(s.Reopened, step.Key)
	}
}
