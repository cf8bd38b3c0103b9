package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
)

// The limit applies to the size that Temporal stores, of text and images together.
func TestMessageIsMeasuredAsItIsStored(t *testing.T) {
	image := "data:image/png;base64," + strings.Repeat("A", 1<<20*4/3)
	for name, c := range map[string]struct {
		message agent.QueuedMessage
		problem string
	}{
		"plain text of 1 MiB":              {agent.QueuedMessage{Text: strings.Repeat("a", 1<<20)}, ""},
		"400 KB of angle brackets":         {agent.QueuedMessage{Text: strings.Repeat("<", 400_000)}, "2400020 bytes when encoded as JSON"},
		"XML that just fits":               {agent.QueuedMessage{Text: strings.Repeat("<a>b</a>", 50_000)}, ""},
		"XML that does not":                {agent.QueuedMessage{Text: strings.Repeat("<a>b</a>", 54_000)}, "the limit is 1500000"},
		"text that is no UTF-8":            {agent.QueuedMessage{Text: strings.Repeat("\xff", 400_000)}, "the limit is 1500000"},
		"an image of 1 MiB with a caption": {agent.QueuedMessage{Text: strings.Repeat("a", 90_000), Images: []string{image}}, ""},
		"an image of 1 MiB with HTML":      {agent.QueuedMessage{Text: strings.Repeat("<", 90_000), Images: []string{image}}, "the limit is 1500000"},
	} {
		t.Run(name, func(t *testing.T) {
			c.message.ID = "m"
			require.Equal(t, payload.Size(c.message), c.message.EncodedBytes())
			err := agent.CheckMessage(c.message)
			if c.problem == "" {
				require.NoError(t, err)
				require.LessOrEqual(t, payload.Size(c.message)*4/3, 2<<20-50_000, "also behind a codec that adds a third")
				return
			}
			require.ErrorIs(t, err, agent.ErrMessage)
			require.ErrorContains(t, err, c.problem)
		})
	}
}

// A replay accepts a message that an earlier version accepted, even if CheckMessage refuses such a message now.
func TestReplayTakesWhatWasTaken(t *testing.T) {
	for _, m := range []agent.QueuedMessage{
		{ID: "m", Text: strings.Repeat("<", 300_000)}, {ID: "an ID with spaces", Text: "go"}, {ID: "late-tool-1", Text: "go"},
	} {
		require.NoError(t, agent.Start{Agent: "x", Message: &m}.Check())
		s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat}, 0)
		require.True(t, s.Apply(agent.MessageReceived{Message: m}))
		require.True(t, s.Has(m.ID))
	}
	require.Error(t, agent.CheckMessage(agent.QueuedMessage{ID: "an ID with spaces", Text: "go"}))
}

// A client cannot use a message ID that the core makes.
func TestIDsOfClientsAndOfTheCoreNeverMeet(t *testing.T) {
	for _, id := range []string{"first", "late-tool-1", "mail/815", "é", strings.Repeat("a", agent.MaxIDBytes)} {
		require.NoError(t, agent.CheckMessage(agent.QueuedMessage{ID: id, Text: "go"}), id)
	}
	for _, id := range []string{"", "late_result-1", "resume 1", "a\nb", "a\x00b", "a\u00a0b", strings.Repeat("a", agent.MaxIDBytes+1)} {
		require.ErrorIs(t, agent.CheckMessage(agent.QueuedMessage{ID: id, Text: "go"}), agent.ErrMessage, id)
	}
}

// A message with a late result has the role of a user. A program that shows messages must not show it as the text of a person.
func TestLateResultIsNoMessageOfAUser(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, wanting("a task"))
	key := s.Pending()[0].Child
	s.Apply(agent.ChildGivenUp{Key: key, Why: "the wait was interrupted"})
	s.Advance(0)
	say(s, llm.Reply{Message: llm.Message{Content: "I wait."}})
	s.Apply(agent.ChildFinished{Key: key, Result: agent.ChildAnswered("done", 0)})
	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "late-mail", Text: "go on"}})
	s.Advance(0)
	say(s, llm.Reply{Message: llm.Message{Content: "I have it."}})
	s.Advance(0)
	var users, late []string
	for _, m := range s.Messages {
		switch {
		case m.BringsLateResult():
			late = append(late, m.Content)
		case m.Role == llm.User:
			users = append(users, m.Content)
		}
	}
	require.Equal(t, []string{"go", "go on"}, users)
	require.Len(t, late, 1)
	require.Contains(t, late[0], "done")
}
