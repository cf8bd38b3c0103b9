package agent

import "slices"

// MayRecall reports whether an earlier run of the agent may have had the effect with the given key. Where it returns false no
// history has to be searched, and one that is gone leaves nothing in doubt.
func (s *State) MayRecall(key Key) bool { return s.Recall || slices.Contains(s.Reopened, key) }

// rewound takes the agent back: what it asks for next, the run that was reset may have had. So it may have had each
// message that the state brings along.
func (s *State) rewound(e Rewound) bool {
	if s.Reset == e.Run {
		return false
	}
	s.Reset, s.Recall = e.Run, true
	for i := range s.Inbox {
		s.Inbox[i].Fresh = false
	}
	return true
}

// messagesFound takes the messages that the agent has not seen yet, each before those that were sent later. The places of messages
// that steered another run mean nothing here.
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
	for _, m := range e.Messages {
		m.Fresh, m.Found, m.After = false, true, 0
		var later []Incoming
		if i := slices.IndexFunc(s.Inbox, func(waits Incoming) bool {
			at, known := place[waits.ID]
			return waits.Late == nil && (!known || at > place[m.ID])
		}); i >= 0 {
			later = slices.Clone(s.Inbox[i:])
			s.Inbox = s.Inbox[:i]
		}
		s.messageReceived(MessageReceived{Message: m, Time: e.Time})
		s.Inbox = append(s.Inbox, later...)
	}
	return true
}

// reopen remembers the effects that are asked for in the moment in which the agent is resumed.
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
