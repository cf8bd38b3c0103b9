package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// send sends a message with overrides, and lets the agent take it.
func send(s *agent.State, id string, o agent.Overrides) {
	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: id, Text: id, Overrides: o}})
	s.Advance(0)
}

// resolve resolves the overrides that the next step asks for.
func resolve(t *testing.T, s *agent.State, d agent.TurnDefinition) agent.ResolveOverrides {
	t.Helper()
	step, ok := s.Next().(agent.ResolveOverrides)
	require.True(t, ok, "%#v", s.Next())
	require.True(t, s.Apply(agent.OverridesResolved{Key: step.Key, Definition: d}))
	require.False(t, s.Apply(agent.OverridesResolved{Key: step.Key, Definition: d}), "the second delivery changes nothing")
	return step
}

func saying(text string) llm.Reply {
	return llm.Reply{Message: llm.Message{Content: text}, Usage: llm.Usage{InputTokens: 90, OutputTokens: 10}}
}

// The limit of tokens in the overrides of a message is for its turn, whatever the agent has spent before.
func TestTurnHasABudgetOfItsOwn(t *testing.T) {
	s := tree(agent.Limits{Tokens: 1000})
	say(s, saying("hello"))
	send(s, "brief", agent.Overrides{Limits: agent.Limits{Tokens: 80}})
	resolve(t, s, agent.TurnDefinition{})
	require.Equal(t, 180, s.Definition.Limits.Tokens)
	say(s, wanting("a task"))
	require.Equal(t, "tokens", s.Turn.Stopped, "%#v", s.Next())
	require.Equal(t, agent.ReachedLimit{Value: "80 tokens", Of: agent.LimitOfMessage}, s.Turn.Limit)
	require.Contains(t, s.Answer(), "this turn reached its limit of 80 tokens, which its message had set (limits.tokens)", "not the total of 180 tokens")
	send(s, "next", agent.Overrides{})
	require.IsType(t, agent.CallModel{}, s.Next())
	require.Equal(t, 1000, s.Definition.Limits.Tokens)
}

// A turn whose overrides are refused asks no model. The next message begins a turn without them.
func TestRefusedOverridesEndTheTurn(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, saying("hello"))
	send(s, "forbidden", agent.Overrides{Model: "best"})
	step := s.Next().(agent.ResolveOverrides)
	refused := agent.OverridesRefused{Key: step.Key, Class: "BadOverrides", Message: "no such model"}
	require.True(t, s.Apply(refused))
	require.False(t, s.Apply(refused))
	require.Equal(t, agent.Held, s.Status())
	require.Equal(t, "no such model", s.Hold.Message)
	require.Contains(t, s.Answer(), "no such model")
	require.False(t, s.Owes("forbidden"))
	send(s, "next", agent.Overrides{})
	require.IsType(t, agent.CallModel{}, s.Next())
	require.Nil(t, s.Turn.Overrides)

	say(s, saying("yes"))
	send(s, "again", agent.Overrides{Model: "best"})
	send(s, "last", agent.Overrides{})
	s.Apply(agent.OverridesRefused{Key: s.Next().(agent.ResolveOverrides).Key, Class: "BadOverrides", Message: "no such model"})
	s.Advance(0)
	require.IsType(t, agent.CallModel{}, s.Next(), "a message that waits begins its turn")
}

// The overrides of a message that is sent after an interrupt hold for the rest of the turn.
func TestMessageAfterAnInterruptBringsItsOverrides(t *testing.T) {
	s := tree(agent.Limits{})
	s.Apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(0))
	send(s, "rather so", agent.Overrides{Instructions: "Be brief."})
	resolve(t, s, agent.TurnDefinition{})
	require.Equal(t, "Be brief.", s.Definition.Instructions)
	s.Apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(0))
	send(s, "or so", agent.Overrides{Instructions: "Be kind."})
	resolve(t, s, agent.TurnDefinition{})
	require.Equal(t, "Be kind.", s.Definition.Instructions)
	require.Equal(t, 1, s.Turn.Number)
	say(s, saying("hello"))
	send(s, "next", agent.Overrides{})
	require.Empty(t, s.Definition.Instructions)
}

// A fork in the middle of a turn has the overrides of the turn, and one behind it has the definition of the agent.
func TestForkHasTheOverridesOfItsTurn(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, saying("hello"))
	send(s, "brief", agent.Overrides{Instructions: "Be brief."})
	resolve(t, s, agent.TurnDefinition{})
	say(s, saying("yes"))
	for at, overridden := range map[int]bool{2: false, 3: true, 4: false} {
		fork, err := s.Fork(agent.Identity{AgentID: "fork", Incarnation: "f", KeyVersion: 1}, agent.Chat, at, 0)
		require.NoError(t, err)
		require.Empty(t, fork.Definition.Instructions)
		if overridden {
			step := resolve(t, fork, agent.TurnDefinition{})
			require.Equal(t, "Be brief.", step.Overrides.Instructions)
			require.Equal(t, "Be brief.", fork.Definition.Instructions)
			say(fork, saying("yes"))
		}
		send(fork, "next", agent.Overrides{})
		require.IsType(t, agent.CallModel{}, fork.Next())
		require.Empty(t, fork.Definition.Instructions)
		require.Equal(t, agent.HashPrefix(fork.Definition.RequestPrefix()), fork.PrefixHash)
	}
}

// A definition that is read again in the middle of a turn gets the overrides, too.
func TestReloadKeepsTheOverridesOfTheTurn(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, saying("hello"))
	send(s, "brief", agent.Overrides{Instructions: "Be brief."})
	first := resolve(t, s, agent.TurnDefinition{})
	s.Apply(agent.ReloadAsked{ID: "1"})
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Instructions: "Be kind.",
	}})
	again := resolve(t, s, agent.TurnDefinition{})
	require.NotEqual(t, first.Key, again.Key)
	require.Equal(t, "Be kind.\n\nBe brief.", s.Definition.Instructions)
	say(s, saying("yes"))
	send(s, "next", agent.Overrides{})
	require.Equal(t, "Be kind.", s.Definition.Instructions)
}

func TestAttackOverridesOfAMessageAreBounded(t *testing.T) {
	for _, o := range []agent.Overrides{
		{Instructions: strings.Repeat("x", agent.MaxMessageInstructions+1)}, {WholeInstructions: strings.Repeat("x", agent.MaxMessageInstructions+1)},
		{Limits: agent.Limits{Depth: 1}}, {Limits: agent.Limits{Tokens: -1}}, {Tools: make([]string, 2000)},
	} {
		require.ErrorIs(t, agent.CheckMessage(agent.QueuedMessage{ID: "m", Text: "go", Overrides: o}), agent.ErrMessage)
	}
	brief := agent.QueuedMessage{ID: "m", Text: "go", Overrides: agent.Overrides{Instructions: "Be brief."}}
	require.NoError(t, agent.CheckMessage(brief))
	brief.Steer = true
	require.ErrorContains(t, agent.CheckMessage(brief), "cannot have overrides")
}
