package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Compaction is a summary that stands for the beginning of the transcript in what is sent.
type Compaction struct {
	// From is the place in the transcript of the first message that is sent as it is.
	From int `json:"from"`
	// Summary is the model's summary of the messages before it.
	Summary string `json:"summary"`
	// Task is the user's latest message where it lies before From: it is sent behind the summary.
	Task *llm.Message `json:"task,omitempty"`
}

// messages returns what is sent before the message at From.
func (c *Compaction) messages() []llm.Message {
	if c == nil {
		return nil
	}
	head := []llm.Message{{Role: llm.User, Content: textSummary(c.Summary)}}
	if c.Task != nil {
		head = append(head, *c.Task)
	}
	return head
}

const (
	// maxCompactions limits the compactions of the context for one reply. A reply that does not
	// fit then does not come to fit by more of it.
	maxCompactions = 4
	// olderPercent is the part of what is sent that a first compaction summarises.
	olderPercent = 60
)

// compaction returns the one that counts now; nil where there is none.
func (s *State) compaction() *Compaction {
	if n := len(s.Compactions); n > 0 {
		return &s.Compactions[n-1]
	}
	return nil
}

// from returns the place of the first message that is sent as it is.
func (s *State) from() int {
	if c := s.compaction(); c != nil {
		return c.From
	}
	return 0
}

// Count returns the number of messages in the whole transcript.
func (s *State) Count() int { return s.Dropped + len(s.Messages) }

// compact returns the step that shortens what is sent. It has no key where nothing can be cut.
func (s *State) compact() Compact {
	from, ok := s.cut()
	if !ok {
		return Compact{}
	}
	count, chain := s.SentCount()-(s.Count()-from)+1, ""
	for i := range count {
		chain = HashMessages(chain, s.SentToCompact(i, count))
	}
	return Compact{Key: s.SummaryIdentity().Key(chain), Count: count, From: from}
}

// SummaryIdentity returns what the keys of requests for summaries are made of, beside their messages.
func (s *State) SummaryIdentity() ModelIdentity {
	return ModelIdentity{s.Identity, HashPrefix(s.Definition.SummaryPrefix())}
}

// SentToCompact returns message i of the count that the request for a summary sends, the
// system message aside: those that it is about, and last the request itself.
func (s *State) SentToCompact(i, count int) llm.Message {
	if i == count-1 {
		return llm.Message{Role: llm.User, Content: textCompact}
	}
	return s.Sent(i)
}

// cut returns the place before which messages are summarised. It lies before a message of the
// user or the assistant, so that no call is parted from its result, and leaves one at least.
func (s *State) cut() (from int, ok bool) {
	if s.Compacted >= maxCompactions {
		return 0, false
	}
	total := 0
	sizes := make([]int, s.SentCount())
	for i := range sizes {
		m := s.Sent(i)
		sizes[i] = messageBytes(m)
		total += sizes[i]
	}
	limit := total * olderPercent / 100 >> s.Compacted
	head := s.SentCount() - (s.Count() - s.from())
	older := 0
	for i, size := range sizes {
		place := s.from() + i - head
		if i > head && s.Messages[place-s.Dropped].Role != llm.Tool && (s.CutBelow == 0 || place < s.CutBelow) && s.shortens(place) {
			if older > limit && ok {
				break
			}
			from, ok = place, true
		}
		older += size
	}
	return from, ok
}

// shortens reports whether a summary of what lies before the place replaces more than the user's
// latest message, which would be sent beside it.
func (s *State) shortens(place int) bool {
	return place > s.from()+1 || s.Messages[s.from()-s.Dropped].Role != llm.User
}

func messageBytes(m llm.Message) int {
	size := len(m.Content)
	for _, p := range m.Parts {
		size += len(p.Text) + len(p.URL)
	}
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments)
	}
	return size
}

// summarised takes the summary that the step asked for.
func (s *State) summarised(step Compact, e ModelReplied) {
	s.Usage.ModelCalls++
	s.count(e)
	if strings.TrimSpace(e.Reply.Message.Content) == "" {
		s.Held = &Held{Key: e.Key, Class: string(llm.BadReply), Message: "asked for a summary, the model called a tool", Time: e.Time}
		return
	}
	s.Usage.Compactions++
	c := Compaction{From: step.From, Summary: e.Reply.Message.Content}
	if earlier := s.compaction(); earlier != nil {
		c.Task = earlier.Task
	}
	for _, m := range s.Messages[s.from()-s.Dropped : step.From-s.Dropped] {
		if m.Role == llm.User {
			task := s.sent(m.Message)
			c.Task = &task
		}
	}
	if slices.ContainsFunc(s.Messages[step.From-s.Dropped:], func(m Message) bool { return m.Role == llm.User }) {
		c.Task = nil // the latest is sent anyway
	}
	s.Compactions = append(s.Compactions, c)
	s.TooLong, s.CutBelow = false, 0
	s.Compacted++
	s.TranscriptHash = ""
	for i := range s.SentCount() {
		s.TranscriptHash = HashMessages(s.TranscriptHash, s.Sent(i))
	}
	s.advanceTranscript(e.Time)
}

// overflowed notes that even the request for a summary was too long.
func (s *State) overflowed(step Compact) {
	s.CutBelow = step.From
	s.Compacted++
}

// Drop removes from the state, for the next run of the agent, the messages that are not sent any more and the
// sub-agents that ended long ago: the histories of earlier runs have them. A copy of the state that shares its
// messages and sub-agents keeps them.
func (s *State) Drop() {
	s.dropChildren()
	c := s.compaction()
	if c == nil {
		return
	}
	s.Messages = s.Messages[c.From-s.Dropped:]
	s.Dropped = c.From
	s.Compactions = s.Compactions[len(s.Compactions)-1:]
}

// full reports whether a reply of that usage leaves no room below the configured bound.
func (s *State) full(u llm.Usage) bool {
	limit := s.Definition.Limits.ContextTokens
	if limit == 0 || u.InputTokens+u.OutputTokens < limit {
		return false
	}
	_, can := s.cut()
	return can
}
