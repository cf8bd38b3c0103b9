package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The input of an agent is what users wrote, with images and metadata: in the transcript, then in the queue. What the agent wrote itself,
// late results and the answers of people to calls are no input.
func TestInputIsWhatUsersWrote(t *testing.T) {
	user := func(key agent.Key, text string) agent.Message {
		return agent.Message{Message: llm.Message{Role: llm.User, Content: text}, Key: key}
	}
	one := user("1", "one")
	one.Parts = []llm.Part{{Type: "image", URL: "https://example.com/a.png"}}
	one.Metadata = agent.Metadata{"user": "ann"}
	late, notice := user(agent.KindLate+"-1", "late"), user("", "correct your answer")
	notice.Notice = true
	given := agent.Message{Message: llm.Message{Role: llm.Tool, Content: "7"}, Decider: &agent.Decider{Actor: agent.Actor{By: "ann"}}}
	remembered := agent.Message{Message: llm.Message{Role: llm.Tool}, Decider: &agent.Decider{Actor: agent.Actor{By: "ann"}, Remembered: true}}
	transcript := []agent.Message{one, {Message: llm.Message{Role: llm.Assistant, Content: "yes"}}, given, remembered, late, notice, user("2", "two")}
	queue := []agent.QueuedMessage{{ID: "l", Text: "late, too", Late: &agent.LateResult{}}, {ID: "3", Text: "three", Steer: true}}
	require.Equal(t, []agent.QueuedMessage{
		{Text: "one", Images: []string{"https://example.com/a.png"}, Metadata: agent.Metadata{"user": "ann"}}, {Text: "two"}, {Text: "three"},
	}, asked(transcript, queue))
	require.Equal(t, 1, decided(transcript))
}

// The messages of a start fit into one payload, and have IDs of their own.
func TestMessagesOfAStartAreBounded(t *testing.T) {
	first, next, err := startingWith(t.Context(), []agent.QueuedMessage{{Text: "one"}, {Text: "two"}}, true)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, []string{first.Text, next[0].Text})
	require.True(t, first.PartialText && next[0].PartialText)
	require.NotEqual(t, first.ID, next[0].ID)
	large := agent.QueuedMessage{Text: strings.Repeat("x", 800_000)}
	_, _, err = startingWith(t.Context(), []agent.QueuedMessage{large, large}, false)
	require.ErrorIs(t, err, agent.ErrMessage)
	require.ErrorContains(t, err, "these are 2 of 1.6 MB; keep the first messages")
	_, _, err = startingWith(t.Context(), make([]agent.QueuedMessage, 1), false)
	require.ErrorIs(t, err, agent.ErrMessage)
	many := make([]agent.QueuedMessage, agent.MaxQueue+1)
	for i := range many {
		many[i].Text = "x"
	}
	_, _, err = startingWith(t.Context(), many, false)
	require.ErrorContains(t, err, "a new agent can begin with 100 messages")
	none, next, err := startingWith(t.Context(), nil, false)
	require.NoError(t, err)
	require.Nil(t, none)
	require.Empty(t, next)
}
