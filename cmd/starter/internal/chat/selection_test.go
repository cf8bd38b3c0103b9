package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

func TestOneCallIsExpanded(t *testing.T) {
	s := newStage(t, true)
	s.says(user("go"))
	for _, id := range []string{"1", "2", "3"} {
		s.says(reply("", llm.ToolCall{ID: id, Name: "tool" + id, Arguments: `{"n":` + id + `}`}), result(id, "first line "+id+"\nsecond line "+id))
	}
	s.report(idle)
	s.keys("tab", "tab")
	s.shows("» tool2", "▸ tool3", "Enter expands this call · Tab older · Shift-Tab newer")
	s.keys("enter")
	s.shows("▸ tool1 {\"n\":1}", "» tool2  (2.5s)\n    n  2\n  → first line 2\n    second line 2\n", "▸ tool3", "Enter folds this call")
	s.keys("ctrl+o")
	s.shows("▾ tool1", "▾ tool3")
	s.keys("enter", "shift+tab")
	s.shows("▸ tool2", "» tool3", "\n    second line 3")
	s.keys("ctrl+o", "esc")
	s.shows("▸ tool1", "▸ tool2", "▸ tool3")
	require.NotContains(t, s.screen(), "»")
	s.keys("tab", "text")
	require.NotContains(t, s.screen(), "»", "Enter sends the text")
	s.keys("tab", "enter")
	require.Equal(t, []string{"send talk steer=false: text"}, s.asked)
}

func TestSelectionEndsWithTheCall(t *testing.T) {
	s := newStage(t, true)
	s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: "read", Arguments: "{}"}))
	s.keys("tab")
	s.shows("» read")
	s.report(client.Progress{Rewound: true, Index: 1})
	require.NotContains(t, s.screen(), "this call")
	s.keys("enter", "tab", "enter")
	require.Empty(t, s.asked)
}

func TestSelectedCallIsOnTheScreen(t *testing.T) {
	s := newStage(t, true)
	for i := range 60 {
		id := fmt.Sprint(i)
		s.says(reply("", llm.ToolCall{ID: id, Name: "tool-" + id + "-", Arguments: "{}"}), result(id, strings.Repeat("line\n", 40)))
	}
	s.report(idle)
	for i := 59; i >= 0; i-- {
		s.keys("tab")
		s.shows(fmt.Sprint("» tool-", i, "-"))
	}
	s.keys("enter")
	s.shows("» tool-0-", "→ line")
	require.NotContains(t, s.screen(), "tool-1-")
	s.keys("shift+tab")
	s.shows("» tool-1-")
	s.keys("esc", "pgup")
	s.keys("tab")
	s.shows("» tool-0-")
	s.keys("enter", "esc", "pgup")
	s.shows("PgDn shows newer lines")
	before := s.screen()
	s.keys("tab")
	lines, old := strings.Split(s.screen(), "\n"), strings.Split(before, "\n")
	require.Equal(t, old[:len(old)-4], lines[:len(lines)-4], "the lowest call on the screen is selected, and nothing moves")
	require.Contains(t, lines[len(lines)-4], "» tool-")
	s.keys("ctrl+o")
	s.shows("» tool-")
	s.event(tea.WindowSizeMsg{Width: 40, Height: 12})
	s.screen()
}
