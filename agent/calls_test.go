package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// If a reply has too many calls, the first of them run. Every other call gets a result that names the limit.
func TestAttackReplyWithManyCalls(t *testing.T) {
	s := tree(agent.Limits{CallsPerReply: 3, Tokens: 1000})
	say(s, wanting("1", "2", "3", "4", "5"))
	keys := []agent.Key{}
	for _, c := range s.Pending() {
		keys = append(keys, c.Child)
	}
	require.Len(t, keys, 3)
	require.Len(t, s.Children, 3, "a sub-agent that is not run is not made")
	require.Equal(t, (1000-100)/4-100, s.Children[0].Grant.Tokens, "and is granted nothing")
	for _, c := range s.Calls[3:] {
		require.True(t, c.Result.Kind.IsError())
		require.Contains(t, c.Result.Content, "asked for 5 tool calls")
		require.Contains(t, c.Result.Content, "is 3 (limits.calls_per_reply)")
	}
	answered(s, keys...)
	require.Equal(t, 5, s.Usage.ToolCalls, "each call has a result in the transcript")
}

// A definition that was recorded before the limit existed has no limit, so that old histories replay.
func TestReplyIsNotLimitedInOldDefinitions(t *testing.T) {
	s := tree(agent.Limits{})
	ask(t, s, strings.Split(strings.Repeat("task,", 300), ",")[:300]...)
}

func TestCallsRunInTurns(t *testing.T) {
	var step agent.RunTools
	for i := range 6 {
		step.Calls = append(step.Calls, agent.Call{Key: agent.Key(fmt.Sprint(i))})
	}
	step.Calls[1].Wait.For = agent.WaitsForApproval
	running := func(started string) string {
		var keys []string
		for _, c := range step.Running(3, func(c agent.Call) bool { return strings.Contains(started, string(c.Key)) }) {
			keys = append(keys, string(c.Key))
		}
		return strings.Join(keys, "")
	}
	require.Equal(t, "023", running(""), "in the model's order, but for those that wait for a person")
	require.Equal(t, "045", running("45"), "what was started stays")
	require.Equal(t, "345", running("345"))
	require.Equal(t, "2345", running("2345"), "what an earlier version started is not given up")
	step.Calls[1].Wait = agent.CallWait{}
	require.Equal(t, "034", running("34"))
}

// Temporal refuses a workflow task that makes more than 2,000 pending sub-agents, and refuses it again each time.
func TestAttackSubAgentsWithoutEnd(t *testing.T) {
	s := tree(agent.Limits{CallsPerReply: 1000})
	for round := range 6 {
		var tasks []string
		for i := range 200 {
			tasks = append(tasks, fmt.Sprint("task ", round, " ", i))
		}
		say(s, wanting(tasks...))
		if round == 5 {
			break
		}
		for _, c := range s.Pending() {
			require.True(t, s.Apply(agent.ChildOverdue(c.Child, 1000, 0)))
		}
	}
	require.Len(t, s.Children, 1000)
	require.Empty(t, s.Pending(), "all 200 calls of the last reply were refused")
	last := s.Messages[s.Count()-1]
	require.Equal(t, llm.Tool, last.Role)
	require.Contains(t, last.Content, "1000 agents that this agent started have not ended")
}

// If the ID of a sub-agent would be too long, the model gets an error result. The workflow task does not fail again and
// again.
func TestSubAgentWithALongID(t *testing.T) {
	for _, c := range []struct {
		bytes   int
		refused bool
	}{{977, false}, {978, true}, {985, true}} {
		s := agent.New(strings.Repeat("a", c.bytes), agent.Start{Incarnation: "l", Agent: "x", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m", Text: "go"}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
			Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Tools: []agent.Tool{{Name: "clerk", Agent: "clerk"}}, Limits: agent.Limits{Depth: 1},
		}})
		s.Advance(0)
		say(s, wanting("task"))
		if !c.refused {
			require.Len(t, s.Children, 1)
			require.Len(t, s.Children[0].ID, 1000)
			continue
		}
		require.Empty(t, s.Children)
		require.Contains(t, s.Messages[s.Count()-1].Content, "Temporal's limit is 1000: the root agent has to be started with a shorter ID")
	}
}
