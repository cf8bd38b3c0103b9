package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
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
		s.states = map[string]client.Snapshot{"trip": {Status: client.Waiting, WaitsFor: client.WaitsForApproval}}
		s.says(user("one"))
		s.report(idle)
		s.keys("/chats", "enter")
		who := map[bool][]string{true: {"» trip · waits for an approval · Plan", "\n  bill · completed · Write a bill"}, false: {"» trip · x · waits for an approval · Plan a \\x1b[2J trip · Jan", "\n  bill · y · completed · Write a bill · Jan"}}
		s.shows(append(who[size.Width < 60], "Chats\n» trip", "Enter opens the chat", "> one")...)
		require.NotContains(t, s.screen(), "sub ·")
		s.keys("down")
		s.shows("» bill")
		s.keys("esc")
		require.NotContains(t, s.screen(), "Chats")
		s.keys("/chats", "enter", "APPROV")
		s.shows("Chats APPROV\n» trip")
		s.keys("esc", "/chats", "enter", "PLAN")
		s.shows("Chats PLAN\n» trip")
		s.reports = []client.Progress{{Message: &agent.Message{Message: llm.Message{Role: llm.User, Content: "plan"}}}, idle}
		s.keys("enter")
		s.shows("> plan", "trip · waits for you")
		require.NotContains(t, s.screen(), "> one")
		require.Empty(t, s.asked)
	}
}

// The task stands before the date, which a narrow line leaves out. No line is too long.
func TestLineOfAnAgentFits(t *testing.T) {
	e := client.Entry{ID: "trip", Agent: "x", Started: time.Unix(0, 0), Task: strings.Repeat("plan a trip ", 20)}
	date := " · " + e.Started.Local().Format("Jan 2 15:04")
	require.Regexp(t, `^trip · x · works · (plan a trip )+.*…`+date+`$`, entryLine(e, "works", 80))
	require.Equal(t, "trip · works · plan a trip plan a tri…", entryLine(e, "works", 38))
	for width := range 120 {
		require.LessOrEqual(t, ansi.StringWidth(entryLine(e, "waits for an approval", width+1)), width+1)
	}
	e.Task = ""
	require.Equal(t, "trip · works"+date, entryLine(e, "works", 38))
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
