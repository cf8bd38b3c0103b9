package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Compaction is a summary of the beginning of the transcript. Requests send the summary in place of the summarised
// messages, because the conversation has become too long for the model.
type Compaction struct {
	// From is the number of messages that the summary replaces, counted from the beginning of the transcript.
	From int `json:"from"`
	// Summary is the model's summary of these messages.
	Summary string `json:"summary"`
	// Task is the user's latest message, if the summary replaces this message; else nil. Requests send Task after the
	// summary.
	Task *llm.Message `json:"task,omitempty"`
}

// messages returns what requests send in place of the beginning of the transcript: the summary, and after it the
// user's task, if there is one. The result is nil if c is nil.
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
	// maxCompactions is how often the agent may summarise the conversation before one reply. If the request is still
	// too long after that, more summaries would not help.
	maxCompactions = 4
	// olderPercent is how much of the request, in percent of its bytes, the first summary before a reply replaces.
	// Each further summary before the same reply replaces half as much as the summary before it.
	olderPercent = 60
)

// compaction returns the latest summary, which is the one that requests send. It returns nil if there is none.
func (s *State) compaction() *Compaction {
	if n := len(s.Compactions); n > 0 {
		return &s.Compactions[n-1]
	}
	return nil
}

// from returns the number of messages that the latest summary replaces, counted from the beginning of the transcript.
// It returns 0 if there is no summary. Requests send all messages after these.
func (s *State) from() int {
	if c := s.compaction(); c != nil {
		return c.From
	}
	return 0
}

// Count returns the number of messages in the whole transcript. It includes messages that the state no longer has.
func (s *State) Count() int { return s.Dropped + len(s.Messages) }

// compact returns the step that asks the model for a summary. The summary makes the next request shorter. If no summary is possible (see
// [State.cut]), the field Key of the step is empty.
func (s *State) compact() Compact {
	of := summaryStep{s.SummaryIdentity(), s.TranscriptHash, s.from(), s.Count(), s.Compacted, s.CutBelow, Compact{}}
	if last := s.lastSummary; last.step.Key != "" && last.without() == of {
		return last.step
	}
	from, ok := s.cut()
	if !ok {
		return Compact{}
	}
	count, chain := s.SentCount()-(s.Count()-from)+1, ""
	for i := range count {
		chain = HashMessages(chain, s.SentToCompact(i, count))
	}
	step := Compact{Key: of.origin.Key(chain), Count: count, From: from}
	of.step = step
	s.lastSummary = of
	return step
}

// summaryStep is a result of [State.compact], and the values on which it depends. [State.Next] asks for it many times, and a large
// transcript takes a tenth of a second to hash.
type summaryStep struct {
	origin                           ModelIdentity
	chain                            string
	from, count, compacted, cutBelow int
	step                             Compact
}

func (s summaryStep) without() summaryStep {
	s.step = Compact{}
	return s
}

// SummaryIdentity returns the part that the keys of all requests for a summary have in common. A key also depends on
// the messages of its request. For all other model calls, see [State.ModelIdentity].
func (s *State) SummaryIdentity() ModelIdentity {
	return ModelIdentity{s.Identity, HashPrefix(s.Definition.SummaryPrefix())}
}

// SentToCompact returns the message at index i of a request for a summary. The request has `count` messages, without
// the system message. Index 0 is the first message after the system message. The last message is the instruction to
// summarise. The messages before the instruction are those to summarise.
func (s *State) SentToCompact(i, count int) llm.Message {
	if i == count-1 {
		return llm.Message{Role: llm.User, Content: textCompact}
	}
	return s.Sent(i)
}

// cut decides how many messages the next summary replaces. It returns their number, counted from the beginning of the
// transcript. At least one message stays. The first message that stays is never the result of a call. Therefore a call and its result
// stay together. After a request for a summary that was too long, the next summary replaces fewer messages: see [State].CutBelow. The
// second result is false if no summary can shorten the request under these rules, or if the agent has reached [maxCompactions].
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

// shortens reports whether the request gets shorter if the next summary replaces the first n messages. The number n
// must be greater than the number of messages that the current summary replaces. The request does not get shorter if
// only one more message is replaced, and this message is a user's. The reason: requests send the user's latest
// message again, after the summary.
func (s *State) shortens(n int) bool {
	return n > s.from()+1 || s.Messages[s.from()-s.Dropped].Role != llm.User
}

func messageBytes(m llm.Message) int {
	size := len(m.Content) + len(m.Opaque.Data)
	for _, p := range m.Parts {
		size += len(p.Text) + len(p.URL)
	}
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments) + len(c.Opaque.Data)
	}
	return size
}

// summarised stores the model's summary, which later requests send. The parameter `step` is the step that asked for
// the summary. If the reply has no text, summarised holds the turn instead: see [Hold].
func (s *State) summarised(step Compact, e ModelReplied) {
	s.Usage.ModelCalls++
	s.count(e)
	if strings.TrimSpace(e.Reply.Message.Content) == "" {
		s.Hold = &Hold{Key: e.Key, Class: string(llm.BadReply), Message: "the model was asked for a summary of the conversation, and its reply has no text", Time: e.Time}
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
	s.TranscriptHash = s.hashSent(s.SentCount())
	s.advanceTranscript(e.Time)
}

// hashSent computes the hash of the first n messages that the next model call sends. [State.append] only extends the hash of the
// transcript. So hashSent is necessary when earlier messages are sent in another form, or no longer.
func (s *State) hashSent(n int) string {
	hash := ""
	for i := range n {
		hash = HashMessages(hash, s.Sent(i))
	}
	return hash
}

// Drop makes the state smaller for the next run of the agent. It removes messages that requests no longer send,
// earlier summaries, and sub-agents that ended long ago. The histories of earlier runs still contain all of them.
// Drop does not write into the slices of the state. Therefore a shallow copy of the state does not change.
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

// full reports whether the agent has to summarise the conversation. There are two conditions. First, the tokens `u`
// of the last request and its reply have reached [Limits].ContextTokens, and this limit is not 0. Second, a summary
// can make the request shorter.
func (s *State) full(u llm.Usage) bool {
	limit := s.Definition.Limits.ContextTokens
	if limit == 0 || u.Bounded().Tokens() < limit {
		return false
	}
	_, can := s.cut()
	return can
}
