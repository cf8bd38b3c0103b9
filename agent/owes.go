package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Owes reports whether the agent has received the message with the given ID and has not answered it yet: the message waits in the queue, or
// its turn has no answer. The turn may be held, and the agent may have ended. The answer to a message that has answered a question (see
// [AskUser]) is that of the turn with the question.
func (s *State) Owes(messageID string) bool {
	switch {
	case !s.Has(messageID):
		return false
	case slices.ContainsFunc(s.Queue, func(m QueuedMessage) bool { return m.ID == messageID }):
		return true
	case s.answered() || len(s.Messages) == 0:
		return false
	}
	taken := slices.IndexFunc(s.Messages, func(m Message) bool { return m.Role == llm.User && string(m.Key) == messageID })
	if taken >= 0 {
		return s.lastAnswerAt() < taken
	}
	last, began := s.lastAnswerAt(), int64(0)
	if last >= 0 {
		began = s.Messages[last].Time
	}
	if d := first(s.Decisions, func(d *Decision) bool { return d.Message == messageID }); d != nil {
		return d.Time >= began
	}
	// The summary of a long turn may have replaced the message. It is not known whether it was a message of this turn, but the turn has no
	// answer.
	return last < 0 && s.Dropped > 0
}

// lastAnswerAt returns the index of the last answer in Messages; -1 if there is none. An answer that the agent has asked the model to correct
// is none.
func (s *State) lastAnswerAt() int {
	for i, m := range slices.Backward(s.Messages) {
		if m.answers() && !corrected(s.Messages, i) {
			return i
		}
	}
	return -1
}

// corrected reports whether the agent has asked the model to correct the message at index i.
func corrected(messages []Message, i int) bool {
	return i+1 < len(messages) && messages[i+1].Notice && messages[i+1].Role == llm.User
}
