package chat

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// The line about the keys has whole hints only. If it has few, these are the most important ones.
func TestHintsAreWhole(t *testing.T) {
	long := "mcp_notes_append_to_a_page"
	waits := []client.Waits{waitsFor("k-00000001", long, "{}", false), waitsFor("k-00000002", long, "{}", false)}
	at := map[string]func(s *stage){
		"Enter sends": func(s *stage) {},
		"Esc interr":  func(s *stage) { s.report(working) },
		"Enter steer": func(s *stage) { s.report(working); s.keys("x") },
		"Tab complet": func(s *stage) { s.keys("/") },
		"Find: x":     func(s *stage) { s.keys("ctrl+f", "x") },
		"y approve":   func(s *stage) { s.report(working); s.m.refreshed(client.Snapshot{}, nil, waits); s.ready() },
		"Approves": func(s *stage) {
			s.report(working)
			s.m.refreshed(client.Snapshot{}, nil, waits)
			s.ready()
			s.keys("a")
		},
		"Enter answe": func(s *stage) {
			s.report(working)
			s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", agent.AskUser, `{"question":"Which?"}`, true)})
		},
	}
	for begin, act := range at {
		s := newStage(t, true)
		s.event(tea.WindowSizeMsg{Width: 200, Height: 40})
		s.report(idle)
		s.m.refreshed(client.Snapshot{}, nil, nil)
		act(s)
		whole := s.hint()
		require.Contains(t, whole, begin)
		for _, width := range []int{40, 60, 80, 100, 120} {
			s.event(tea.WindowSizeMsg{Width: width, Height: 40})
			hint := s.hint()
			require.LessOrEqual(t, ansi.StringWidth(hint), width, hint)
			if !strings.Contains(whole, "all later calls") {
				require.True(t, strings.HasPrefix(whole, hint), "%q is no beginning of %q", hint, whole)
				require.True(t, hint == whole || strings.HasPrefix(whole, hint+separator), "%q ends within a hint of %q", hint, whole)
			}
		}
	}
	for width, want := range map[int]string{
		40:  "y approve · n deny · a all its calls",
		80:  "y approve · n deny · a approve the other and all its later calls",
		100: "y approve · n deny · a approve the other and all later calls of " + long,
	} {
		s := newStage(t, true)
		s.event(tea.WindowSizeMsg{Width: width, Height: 40})
		at["y approve"](s)
		require.Equal(t, want, s.hint())
	}
}

func (s *stage) hint() string {
	lines := strings.Split(s.screen(), "\n")
	return lines[len(lines)-1]
}
