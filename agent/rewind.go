package agent

import "slices"

// MayRecall reports whether an earlier run of the agent may have had the effect with the given key. If it returns
// false, the effect is new: the driver searches no histories, and it does not matter if some of them are deleted.
func (s *State) MayRecall(key Key) bool { return s.Recall || slices.Contains(s.Reopened, key) }

// rewound records that this run began by a reset. From now on, the run that was reset may have had every effect that
// the agent asks for, and every message in the inbox. So rewound sets Recall and clears Fresh. It also marks the
// messages as Brought, which places them before the messages of other runs. It does not mark them if a search for
// messages is still to be done: some of them may then have been sent later than messages of other runs, and that search
// decides.
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

// messagesFound puts each found message that the agent has not seen into the inbox, before the messages that were sent
// later. It clears the places of found steering messages, because these are places in the transcript of another run.
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

// reopen records the effects that the agent asks for at the moment when it is resumed.
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
