package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// HasOther reports whether the agent has received another message with the ID of m: one with another text or other images. It is false if
// the agent has received no message with this ID, or the same message, or if that is no longer known. It is not known if the message has
// been summarised, was refused or changed by a guardrail, or has answered a question that is forgotten. Metadata, overrides and Steer do not
// count, because a sender may repeat a message with other ones.
func (s *State) HasOther(m QueuedMessage) bool {
	if queued := first(s.Queue, func(q *QueuedMessage) bool { return q.ID == m.ID }); queued != nil {
		return queued.Text != m.Text || !slices.Equal(queued.Images, m.Images)
	}
	if taken := first(s.Messages, func(t *Message) bool { return t.Role == llm.User && string(t.Key) == m.ID }); taken != nil {
		changed := slices.ContainsFunc(taken.Verdicts, func(v GivenVerdict) bool { return v.Action == TextChanged })
		sent := m.message()
		return !changed && taken.Content != sent.Content || !slices.Equal(taken.Parts, sent.Parts)
	}
	answer := first(s.Decisions, func(d *Decision) bool { return d.Message == m.ID })
	return answer != nil && answer.Result != nil && answer.Result.hash() != GivenResult{Content: m.Text}.hash()
}
