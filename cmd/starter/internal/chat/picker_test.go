package chat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

func TestPersonPicksAnotherChat(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.agents = []client.Entry{
			{ID: "talk", Agent: "x", Status: client.Running},
			{ID: "trip", Agent: "x", Status: client.Running, Started: time.Unix(0, 0), Task: "Plan a \x1b[2J trip"},
			{ID: "sub", Agent: "y", Status: client.Running, Parent: "trip"},
			{ID: "bill", Agent: "y", Status: client.Completed, Task: "Write a bill"},
		}
		s.says(user("one"))
		s.report(idle)
		s.keys("/chats", "enter")
		s.shows("Chats\n» trip · x · running · ", "\n  bill · y · completed", "Enter opens the chat", "> one")
		require.NotContains(t, s.screen(), "sub ·")
		s.keys("down")
		s.shows("» bill")
		s.keys("esc")
		require.NotContains(t, s.screen(), "Chats")
		s.keys("/chats", "enter", "PLAN")
		s.shows("Chats PLAN\n» trip")
		s.reports = []client.Progress{{Message: &agent.Message{Message: llm.Message{Role: llm.User, Content: "plan"}}}, idle}
		s.keys("enter")
		s.shows("> plan", "trip · waits for you")
		require.NotContains(t, s.screen(), "> one")
		require.Empty(t, s.asked)
	}
}

// A message that is on its way is not lost by a change to another agent.
func TestPickedChatDoesNotLoseAMessage(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.agents = []client.Entry{{ID: "trip"}}
	s.m.outbox = []*outgoing{{id: "m", text: "hello"}}
	s.m.sending = true
	s.keys("/chats", "enter", "enter")
	s.shows("a message is being sent", "> hello (being sent)", "talk · waits for you")
}
