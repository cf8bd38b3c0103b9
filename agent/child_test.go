package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// ask makes the agent ask for sub-agents with the given tasks, and returns their keys.
func ask(t *testing.T, s *agent.State, tasks ...string) []agent.Key {
	t.Helper()
	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: fmt.Sprint("m", s.Count()), Text: "go on"}})
	s.Advance(0)
	say(s, wanting(tasks...))
	var keys []agent.Key
	for _, c := range s.Pending() {
		keys = append(keys, c.Child)
	}
	require.Len(t, keys, len(tasks))
	return keys
}

// answered ends the sub-agents with an answer, and then the turn of the agent.
func answered(s *agent.State, children ...agent.Key) {
	for _, key := range children {
		s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildAnswered("done", 0)})
	}
	say(s, llm.Reply{Message: llm.Message{Content: "thanks"}})
}

// No key of a sub-agent is used twice, however many sub-agents are asked for and however often with the same input.
// ChildCounts stays small.
func TestKeysOfSubAgentsAreNeverUsedTwice(t *testing.T) {
	s := tree(agent.Limits{})
	answered(s)
	seen := map[agent.Key]bool{}
	var first agent.Key
	for round := range 30 {
		var tasks []string
		for i := range 100 {
			tasks = append(tasks, fmt.Sprint("task ", round*100+i))
		}
		tasks = append(tasks, "always", "task 0", "task 1", fmt.Sprint("task ", round))
		keys := ask(t, s, tasks...)
		if round == 0 {
			first = keys[5]
		}
		for i, key := range keys {
			require.False(t, seen[key], "round %d, %s", round, tasks[i])
			seen[key] = true
		}
		answered(s, keys...)
		s.Drop()
		require.LessOrEqual(t, len(s.ChildCounts), 2000)
	}
	require.Positive(t, s.ChildCountFloor)
	fresh := tree(agent.Limits{})
	answered(fresh)
	require.Equal(t, first, ask(t, fresh, "a", "b", "c", "d", "e", "task 5")[5], "the key of the first for its task")
	require.Len(t, seen, 30*104)
	require.Equal(t, 30*104, s.ChildCount())
}

// The next run does not get the sub-agents that ended long ago. It gets those for which a call waits and those that may
// still answer. A grant without a report counts as spent, with its margin.
func TestSubAgentsThatEndedLongAgoLeaveTheState(t *testing.T) {
	s := tree(agent.Limits{Tokens: 1_000_000})
	answered(s)
	var all []agent.Key
	for round := range 5 {
		keys := ask(t, s, slices.Repeat([]string{fmt.Sprint("task ", round)}, 10)...)
		all = append(all, keys...)
		switch round {
		case 0:
			s.Apply(agent.ChildOverdue(keys[0], 1000, 0))
			s.Apply(agent.ChildFinished{Key: keys[1], Result: agent.ChildFailed("clerk", "no", 0), Spent: &agent.Spending{}})
			keys = slices.Delete(keys, 1, 2)
		case 1: // a sub-agent that does not report what it spent
			s.Apply(agent.ChildFinished{Key: keys[0], Result: agent.ChildAnswered("done", 0)})
		}
		for _, key := range keys {
			s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildAnswered("done", 0), Spent: &agent.Spending{}})
		}
		say(s, llm.Reply{Message: llm.Message{Content: "thanks"}})
	}
	silent, _ := s.Child(all[10])
	require.Positive(t, silent.Grant.Tokens)
	last := ask(t, s, "the last")
	before := *s
	s.Drop()
	require.Len(t, before.Children, 51, "a copy keeps them")
	require.Equal(t, 51, s.ChildCount())
	kept := map[agent.Key]bool{}
	for _, c := range s.Children {
		kept[c.Key] = true
	}
	require.True(t, kept[last[0]], "it works")
	for _, key := range all[30:] {
		require.True(t, kept[key], "one of the newest twenty")
	}
	require.Len(t, kept, 21+1, "and the one that failed")
	require.True(t, kept[all[1]])
	require.Equal(t, before.Usage.Descendants.Tokens()+silent.Grant.Tokens+silent.Margin.Tokens, s.Usage.Descendants.Tokens())
}

// The report of a resumed sub-agent about its spending replaces its earlier report.
func TestResumedSubAgentIsPaidOnce(t *testing.T) {
	s := tree(agent.Limits{Tokens: 1000})
	say(s, wanting("one"))
	key := s.Children[0].Key
	spent := func(n int) *agent.Spending { return &agent.Spending{Usage: llm.Usage{InputTokens: n}} }
	s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildFailed("clerk", "no", 0), Spent: spent(50)})
	s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildAnswered("done", 0), Spent: spent(80)})
	require.Equal(t, 80, s.Usage.Descendants.Tokens())
	s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildAnswered("done", 0), Spent: spent(80)})
	require.Equal(t, 80, s.Usage.Descendants.Tokens())
}

// A reset does not repeat a turn that its time limit has stopped. So the results that the stop gave to calls are not
// recalled. A late result is recalled.
func TestStoppedTurnIsNoAnswerToRecall(t *testing.T) {
	s := tree(agent.Limits{Time: time.Second})
	say(s, wanting("one"))
	call := s.Pending()[0]
	s.Apply(agent.TimeReached{Turn: 1, Time: 1000})
	require.True(t, strings.HasPrefix(s.Messages[2].Content, "no result: this turn reached its time limit"))
	r := s.CallRecord(call)
	require.Nil(t, r.Result)
	require.NotEqual(t, agent.ChildAsked, r.Phase)
	s.Apply(agent.ChildFinished{Key: call.Child, Result: agent.ChildAnswered("late", 0)})
	s.Advance(1000)
	r = s.CallRecord(call)
	require.Equal(t, "late", r.Result.Content)
	require.Empty(t, r.Late)
}
