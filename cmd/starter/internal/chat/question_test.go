package chat

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// sizes are the sizes of terminals on which people chat.
var sizes = []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 40, Height: 15}}

// A question that was answered stays readable, with its answer: on the screen, and on the terminal after the chat.
func TestAnsweredQuestionIsText(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		answer := result("1", "the second")
		answer.Decider = &agent.Decider{By: "kim"}
		s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: agent.AskUser, Arguments: `{"question":"Which one\nof both?","choices":["the first","the second"]}`}))
		s.shows("▸ Question: Which one of both? …")
		s.says(answer)
		s.shows("▸ Question: Which one\n  of both?\n  → the second\n")
		require.NotContains(t, s.screen(), "{")
		require.Contains(t, s.m.left(false), "▸ Question: Which one\n  of both?\n  → the second\n")
		s.keys("ctrl+o")
		s.shows("▾ Question: Which one\n  of both?\n    1  the first\n    2  the second\n  answered by kim\n  → the second\n")
	}
}
