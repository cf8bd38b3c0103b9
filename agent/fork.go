package agent

import (
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// ForkPointError says that an agent cannot be forked after the chosen message. A fork is a new agent that begins with the first messages
// of another agent. There are three possible reasons:
//
//   - The chosen number of messages is less than 1, or greater than the number of the agent's messages.
//   - A chosen message has a call without a result in the chosen messages. Its result is in a later message, or there is none yet.
//   - The state no longer has messages that the fork needs, because a summary has replaced them.
type ForkPointError struct {
	// At is the number of messages that the fork would have.
	At int
	// Count is the number of the agent's messages.
	Count int
	// Before and After are the nearest possible numbers of messages, below and above the chosen number; -1 if there
	// is none.
	Before, After int
	// Dropped is the number of messages that the state no longer has.
	Dropped int
}

// Error returns a text that says why the agent cannot be forked after the chosen message. The text names the nearest
// messages after which a fork is possible, if there are any.
func (e *ForkPointError) Error() string {
	text := fmt.Sprintf("the agent cannot be forked after message %d: a tool call up to this message has its result in a later message, or has none yet", e.At)
	switch {
	case e.At > e.Count:
		text = fmt.Sprintf("the agent cannot be forked after message %d: the agent has %d messages", e.At, e.Count)
	case e.At < 1:
		text = fmt.Sprintf("the agent cannot be forked after message %d: the first message has number 1", e.At)
	case e.At < e.Dropped:
		text = fmt.Sprintf("the agent cannot be forked after message %d: the first %d messages were summarised", e.At, e.Dropped)
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

// CheckFork returns nil if a fork can begin with the first `at` messages of this agent (see [State.Fork]), and a [*ForkPointError] if
// not. If `at` is less than [State].Dropped, this state no longer has messages that the fork needs. In that case, call CheckFork on the
// state of an earlier run.
func (s *State) CheckFork(at int) error {
	if s.forkable(at) {
		return nil
	}
	e := &ForkPointError{At: at, Count: s.Count(), Before: -1, After: -1, Dropped: s.Dropped}
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

// forkable reports whether a fork can begin with the first n messages of this agent. There are three conditions:
//
//   - The number n is at least 1, and at most the number of messages in the transcript.
//   - Every call in these messages has its result in these messages, too.
//   - The state still has all messages that the fork would send.
func (s *State) forkable(n int) bool {
	i := n - s.Dropped
	if n < 1 || i < 0 || i > len(s.Messages) {
		return false
	}
	if i == 0 {
		return true // Drop has cut here, and it never separates a call from its result
	}
	last := s.Messages[i-1]
	if last.Role == llm.Assistant && len(last.ToolCalls) > 0 {
		return false
	}
	return i == len(s.Messages) || s.Messages[i].Role != llm.Tool
}

// Fork returns the state of a new agent that begins with the first `at` messages of this agent and has the same
// definition. The new agent has the identity `id`, and therefore keys of its own. It has no sub-agents and no open
// calls. Therefore it repeats nothing of this agent, and waits for nothing of this agent. If the fork begins in the
// middle of a turn, the time limit of the turn counts from `now`, in Unix milliseconds. If no fork is possible, Fork
// returns the error of [State.CheckFork].
func (s *State) Fork(id Identity, mode Mode, at int, now int64) (*State, error) {
	if err := s.CheckFork(at); err != nil {
		return nil, err
	}
	fork := &State{
		Identity: id, Agent: s.Agent, Mode: mode, Depth: s.Depth, MaxDepth: s.MaxDepth, OutputSchema: s.OutputSchema, Metadata: s.Metadata, Overrides: s.Overrides,
		Definition: s.Definition, PrefixHash: s.PrefixHash, Messages: slices.Clone(s.Messages[:at-s.Dropped]), Dropped: s.Dropped,
		Turn: Turn{Began: now},
	}
	for _, c := range s.Compactions {
		if c.From <= at { // a later compaction also summarises messages that the fork lacks
			fork.Compactions = append(fork.Compactions, c)
		}
	}
	if s.OwnDefinition != nil {
		fork.define(s.OwnDefinition)
	}
	fork.TranscriptHash = fork.hashSent(fork.SentCount())
	answered := false
	for i, m := range fork.Messages {
		fork.Messages[i].Spent = Spending{} // the fork has not used it
		if m.Role == llm.User {
			fork.Turn.Number++
		}
		if answered && !m.Notice {
			fork.Turn.Metadata, fork.Turn.Overrides = nil, nil // the message begins another turn
		}
		if o := fork.overridesOf(QueuedMessage{ID: string(m.Key), Overrides: m.Overrides}); o != nil {
			fork.Turn.Overrides = o
		}
		fork.Turn.Metadata = fork.Turn.Metadata.after(m.Metadata, m.fromOutside())
		answered = m.answers()
	}
	return fork, nil
}

// Redefine makes a fork read its definition again, with these overrides, before it does anything else. If the definition cannot be read,
// the fork ends.
func (s *State) Redefine(o Overrides) {
	s.Overrides = o
	s.forgetDefinition()
}
