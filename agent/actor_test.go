package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// The transcript says who has sent a message, without the proof that the sender claims, and the request for the model is the same as without
// a sender.
func TestSenderIsInTheTranscriptAndInNoHash(t *testing.T) {
	begin := func(a agent.Actor) *agent.State {
		s := agent.New("a", agent.Start{Agent: "a", Incarnation: "1", Message: &agent.QueuedMessage{ID: "m", Text: "Hello", Actor: a}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{Name: "a"}})
		s.Apply(agent.MessageTaken{ID: "m"})
		return s
	}
	named, unnamed := begin(agent.Actor{By: "ann", From: "laptop", ProvedBy: "me"}), begin(agent.Actor{})
	require.Equal(t, &agent.Actor{By: "ann", From: "laptop"}, named.Messages[0].Sender)
	require.Nil(t, unnamed.Messages[0].Sender)
	require.Equal(t, unnamed.Next(), named.Next())
}
