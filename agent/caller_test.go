package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// askFor sends the agent a message with the reference of a caller, lets the model ask for a sub-agent, and returns this call.
func askFor(t *testing.T, s *agent.State, id, caller, task string) agent.Call {
	t.Helper()
	m := agent.QueuedMessage{ID: id, Text: "go on"}
	if caller != "" {
		m.Metadata = agent.Metadata{agent.CallerReference: caller}
	}
	s.Apply(agent.MessageReceived{Message: m})
	s.Advance(0)
	say(s, wanting(task))
	require.Len(t, s.Pending(), 1)
	return s.Pending()[0]
}

// A sub-agent that works on for one caller is not the one of another caller who asks for the same, and the keys of equal calls differ.
func TestNoCallerGetsWhatIsDoneForAnother(t *testing.T) {
	s := tree(agent.Limits{})
	answered(s)
	ann := askFor(t, s, "m1", "ann", "count")
	s.Apply(agent.ChildOverdue(ann.Child, 1000, 0))
	say(s, llm.Reply{Message: llm.Message{Content: "it works on"}})

	bob := askFor(t, s, "m2", "bob", "count")
	require.NotEqual(t, ann.Child, bob.Child)
	answered(s, bob.Child)
	again := askFor(t, s, "m3", "ann", "count")
	require.Equal(t, ann.Child, again.Child, "ann's own sub-agent is found again")
	answered(s, ann.Child)
	nobody := askFor(t, s, "m4", "", "count")
	require.NotContains(t, []agent.Key{ann.Child, bob.Child}, nobody.Child)

	one, other := tree(agent.Limits{}), tree(agent.Limits{})
	answered(one)
	answered(other)
	require.NotEqual(t, askFor(t, one, "m1", "ann", "count").Key, askFor(t, other, "m1", "bob", "count").Key)
}

// Whoever writes without a reference into the turn of a caller does not act for this caller. Late results change nothing.
func TestReferenceEndsWithTheNextMessageFromOutside(t *testing.T) {
	s := tree(agent.Limits{})
	answered(s)
	ann := askFor(t, s, "m1", "ann", "count")
	s.Apply(agent.ChildOverdue(ann.Child, 1000, 0))
	s.Apply(agent.ChildFinished{Key: ann.Child, Result: agent.ChildAnswered("late", 0)})
	s.Advance(0)
	require.Equal(t, "ann", s.CurrentMetadata()[agent.CallerReference])

	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "m2", Text: "and that", Steer: true, Metadata: agent.Metadata{"user": "bob"}}})
	s.Advance(0)
	require.Equal(t, agent.Metadata{"user": "bob"}, s.CurrentMetadata())

	fork, err := s.Fork(agent.Identity{KeyVersion: 1, AgentID: "fork", Incarnation: "f"}, agent.Chat, s.Count(), 0)
	require.NoError(t, err)
	require.Equal(t, agent.Metadata{"user": "bob"}, fork.CurrentMetadata())
}
