package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A sender that uses an ID for two messages is told, while the agent still has the first one.
func TestIDOfTwoMessagesIsSeen(t *testing.T) {
	user := func(key agent.Key, content string, verdicts ...agent.GivenVerdict) agent.Message {
		return agent.Message{Message: llm.Message{Role: llm.User, Content: content}, Key: key, Verdicts: verdicts}
	}
	picture := user("picture", "look")
	picture.Parts = []llm.Part{{Type: "image", URL: "https://a/b.png"}}
	s := &agent.State{
		Queue: []agent.QueuedMessage{{ID: "queued", Text: "one"}},
		Messages: []agent.Message{
			user("taken", "one"), user("changed", "one without its card number", agent.GivenVerdict{Guardrail: "cards", Action: agent.TextChanged}), picture,
		},
		Decisions: []agent.Decision{{Message: "answer", Result: &agent.GivenResult{Content: "red"}}},
	}
	for name, c := range map[string]struct {
		sent  agent.QueuedMessage
		other bool
	}{
		"the queue has it":             {agent.QueuedMessage{ID: "queued", Text: "one", Steer: true}, false},
		"the queue has another":        {agent.QueuedMessage{ID: "queued", Text: "two"}, true},
		"the transcript has it":        {agent.QueuedMessage{ID: "taken", Text: "one", Metadata: agent.Metadata{"try": "2"}}, false},
		"the transcript has another":   {agent.QueuedMessage{ID: "taken", Text: "two"}, true},
		"it was changed":               {agent.QueuedMessage{ID: "changed", Text: "one with 4711"}, false},
		"the same picture":             {agent.QueuedMessage{ID: "picture", Text: "look", Images: []string{"https://a/b.png"}}, false},
		"another picture":              {agent.QueuedMessage{ID: "picture", Text: "look", Images: []string{"https://a/c.png"}}, true},
		"it was the answer":            {agent.QueuedMessage{ID: "answer", Text: "red"}, false},
		"there was another answer":     {agent.QueuedMessage{ID: "answer", Text: "blue"}, true},
		"it was summarised, or is new": {agent.QueuedMessage{ID: "gone", Text: "one"}, false},
	} {
		require.Equal(t, c.other, s.HasOther(c.sent), name)
	}
}
