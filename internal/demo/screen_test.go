package demo

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
)

// Words stay whole at the edge of the terminal, and so do links.
func TestNewcomerReadsWholeWords(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, width: 40, wraps: true, began: time.Now()}
	link := "http://127.0.0.1:8233/namespaces/default/workflows/demo-0123456789"
	s.ready("Agent", "demo-0123456789, which is seen while the demo runs at "+link)
	s.entry("you", "What keeps a tool from doing its work twice after a kill -9 of a read-only worker?")
	s.say("short   columns stay")
	text := out.String()
	require.Contains(t, text, "\n  "+link+"\n")
	require.Contains(t, text, "short   columns stay\n")
	for line := range strings.Lines(text) {
		require.True(t, lipgloss.Width(line) <= 42 || strings.Contains(line, link), "%q", line)
	}
	words := strings.Join(strings.Fields(text), " ")
	require.Contains(t, words, "which is seen while the demo runs at")
	require.Contains(t, words, "after a kill -9 of a read-only worker?")
}

func TestALongWaitIsSomeLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &screen{out: &out, width: 80, began: time.Now()}
		over := s.working("Temporal starts")
		time.Sleep(5 * time.Second) // of the bubble's clock
		inner := s.working("Building the Temporal CLI")
		time.Sleep(13 * time.Minute) // of the bubble's clock
		inner()
		over()
		require.Less(t, strings.Count(out.String(), "\n"), 25)
		require.Contains(t, out.String(), "  Temporal starts … 2 s\n")
		require.Contains(t, out.String(), "  Building the Temporal CLI … 12 min 2 s\n")
		require.Equal(t, 1, strings.Count(out.String(), "Temporal starts"), out.String())
	})
}
