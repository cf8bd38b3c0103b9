package agent

import (
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// ForkPointError says that an agent cannot be forked after so many messages: there are not so many, or a tool call among them has
// its result behind them.
type ForkPointError struct {
	At int
	// Count is the number of the agent's messages.
	Count int
	// Before and After are the nearest numbers of messages at which a fork is
	// possible; -1 where there is none.
	Before, After int
}

// Error names the nearest points.
func (e *ForkPointError) Error() string {
	text := fmt.Sprintf("the agent cannot be forked after message %d: the result of a tool call before it comes after it", e.At)
	switch {
	case e.At > e.Count:
		text = fmt.Sprintf("the agent cannot be forked after message %d: it has %d messages", e.At, e.Count)
	case e.At < 1:
		text = fmt.Sprintf("the agent cannot be forked after message %d: the first message has number 1", e.At)
	}
	switch {
	case e.Before >= 0 && e.After >= 0:
		return fmt.Sprintf("%s; fork it after message %d or %d", text, e.Before, e.After)
	case e.Before >= 0:
		return fmt.Sprintf("%s; fork it after message %d", text, e.Before)
	case e.After >= 0:
		return fmt.Sprintf("%s; fork it after message %d", text, e.After)
	}
	return text
}

// CheckFork reports whether the agent can be forked after so many messages. Where the state has lost
// some of those to a compaction, that of an earlier run has to be asked.
func (s *State) CheckFork(at int) error {
	if s.forkable(at) {
		return nil
	}
	e := &ForkPointError{At: at, Count: s.Count(), Before: -1, After: -1}
	for n := min(at, s.Count()); n > 0 && e.Before < 0; n-- {
		if s.forkable(n) {
			e.Before = n
		}
	}
	for n := max(at, 1); n <= s.Count() && e.After < 0; n++ {
		if s.forkable(n) {
			e.After = n
		}
	}
	return e
}

// forkable reports whether the first n messages stand by themselves: every call has its result.
func (s *State) forkable(n int) bool {
	i := n - s.Dropped
	if n < 1 || i < 0 || i > len(s.Messages) {
		return false
	}
	if i == 0 {
		return true // a compaction cut here
	}
	last := s.Messages[i-1]
	if last.Role == llm.Assistant && len(last.ToolCalls) > 0 {
		return false
	}
	return i == len(s.Messages) || s.Messages[i].Role != llm.Tool
}

// Fork returns a new agent with the first messages of this one. It has an identity
// and so keys of its own, and no sub-agents: nothing of the other's is run or
// waited for again. Its definition is the other's. A turn that the fork is in the middle of begins at the given time,
// in Unix milliseconds.
func (s *State) Fork(id Identity, mode Mode, at int, now int64) (*State, error) {
	if err := s.CheckFork(at); err != nil {
		return nil, err
	}
	fork := &State{
		Identity: id, Agent: s.Agent, Mode: mode, Depth: s.Depth, MaxDepth: s.MaxDepth, OutputSchema: s.OutputSchema,
		Definition: s.Definition, PrefixHash: s.PrefixHash, Messages: slices.Clone(s.Messages[:at-s.Dropped]), Dropped: s.Dropped,
		Turn: Turn{Began: now},
	}
	for _, c := range s.Compactions {
		if c.From <= at { // a later one is about more than the fork has
			fork.Compactions = append(fork.Compactions, c)
		}
	}
	for i := range fork.SentCount() {
		fork.TranscriptHash = HashMessages(fork.TranscriptHash, fork.Sent(i))
	}
	for _, m := range fork.Messages {
		if m.Role == llm.User {
			fork.Turn.Number++
		}
	}
	return fork, nil
}
