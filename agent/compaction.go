package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Compaction is a summary that requests send in place of the beginning of the transcript, because the conversation has
// become too long for the model.
type Compaction struct {
	// From is the number of messages at the beginning of the transcript that the summary replaces.
	From int `json:"from"`
	// Summary is the model's summary of these messages.
	Summary string `json:"summary"`
	// Task is the user's latest message, if it is one of these messages; else nil. Requests send it after the summary.
	Task *llm.Message `json:"task,omitempty"`
}

// messages returns the messages that requests send in place of the beginning of the transcript: the summary, and then
// the task, if there is one. It returns nil if c is nil.
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
	// maxCompactions is the largest number of compactions for one reply. If the request is still too long after them,
	// more compactions would not help.
	maxCompactions = 4
	// olderPercent is the share, in percent of the bytes sent, that the first compaction summarises. Each further
	// compaction for the same reply summarises half of the share before it.
	olderPercent = 60
)

// compaction returns the latest compaction, which is the one in use; nil if there is none.
func (s *State) compaction() *Compaction {
	if n := len(s.Compactions); n > 0 {
		return &s.Compactions[n-1]
	}
	return nil
}

// from returns the number of messages at the beginning of the transcript that the latest summary replaces; 0 if there
// is no summary. Requests send all messages after these.
func (s *State) from() int {
	if c := s.compaction(); c != nil {
		return c.From
	}
	return 0
}

// Count returns the number of messages in the whole transcript.
func (s *State) Count() int { return s.Dropped + len(s.Messages) }

// compact returns the step that asks the model for a summary, so that the next request is shorter. The step's Key is
// empty if no summary can shorten the request.
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

// SummaryIdentity returns what the keys of all requests for a summary have in common: everything in a key except the
// messages. For all other model calls, see [State.ModelIdentity].
func (s *State) SummaryIdentity() ModelIdentity {
	return ModelIdentity{s.Identity, HashPrefix(s.Definition.SummaryPrefix())}
}

// SentToCompact returns the message with index i of a request for a summary. The request has a given number of messages (count).
// The system message has no index and is not counted. The last message of the request is the instruction to summarise. The
// messages before it are those to summarise.
func (s *State) SentToCompact(i, count int) llm.Message {
	if i == count-1 {
		return llm.Message{Role: llm.User, Content: textCompact}
	}
	return s.Sent(i)
}

// cut decides how much the next summary replaces. It returns the number of messages (from), counted from the beginning of the
// transcript. The first message after them is never a result, so a call and its result stay together. At least one message is not
// replaced. The second result is false if no summary can shorten the request, or if maxCompactions was reached.
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

// shortens reports whether the request gets shorter if the next summary replaces the first n messages of the
// transcript. The current summary already replaces s.from() messages, and n must be greater. If n is greater by 1 only,
// and the additional message is a user's message, the request gets no shorter. The reason is that requests send the
// user's latest message after the summary, so they would send this message again.
func (s *State) shortens(n int) bool {
	return n > s.from()+1 || s.Messages[s.from()-s.Dropped].Role != llm.User
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

// summarised handles e, the model's reply to a request for a summary (step). It stores the summary, so that later requests send
// it. If the reply has no text, summarised holds the turn: see [Held].
func (s *State) summarised(step Compact, e ModelReplied) {
	s.Usage.ModelCalls++
	s.count(e)
	if strings.TrimSpace(e.Reply.Message.Content) == "" {
		s.Held = &Held{Key: e.Key, Class: string(llm.BadReply), Message: "the model was asked for a summary of the conversation, but called a tool instead", Time: e.Time}
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
		c.Task = nil // the user's latest message is not before From, so it is sent anyway
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

// overflowed records that a request for a summary (step) was itself too long for the model. The next request for a summary covers
// fewer messages.
func (s *State) overflowed(step Compact) {
	s.CutBelow = step.From
	s.Compacted++
}

// Drop makes the state smaller for the next run of the agent. It removes messages that requests no longer send, earlier
// summaries, and sub-agents that ended long ago. All of them stay in the histories of earlier runs. Drop does not write
// to the state's slices, so it does not change a shallow copy of the state.
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

// full reports whether a reply shows that the context is too long, so that a summary is needed. Two conditions must hold: the
// tokens u of the reply and its request have reached [Limits].ContextTokens, and a summary can shorten the request. If this limit
// is 0, full returns false.
func (s *State) full(u llm.Usage) bool {
	limit := s.Definition.Limits.ContextTokens
	if limit == 0 || u.InputTokens+u.OutputTokens < limit {
		return false
	}
	_, can := s.cut()
	return can
}
