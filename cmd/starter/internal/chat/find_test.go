package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsFound(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		for i := range 40 {
			s.says(user(fmt.Sprint("message ", i)))
		}
		s.says(reply("The needle is here."))
		for i := range 40 {
			s.says(user(fmt.Sprint("later ", i)))
		}
		s.report(idle)
		s.m.input.SetValue("a draft")
		s.keys("ctrl+f", "NEEDLE")
		s.shows("The needle is here.", "Find: NEEDLE · line ", "> a draft")
		require.Contains(t, s.m.View().Content, "\x1b[7mneedle\x1b[m")
		s.keys("ctrl+u", "message 3")
		s.shows("> message 39")
		s.keys("enter", "up")
		s.shows("> message 37", "line 76")
		s.keys("down")
		s.shows("line 78")
		for range 20 {
			s.keys("enter")
		}
		s.shows("> message 3\n", "line 8 ")
		s.keys("x")
		s.shows("Find: message 3x · no match")
		s.keys("backspace", "esc")
		require.NotContains(t, s.screen(), "Find")
		s.keys("enter")
		require.Equal(t, []string{"send talk steer=false: a draft"}, s.asked)
	}
}

func TestKeyGoesToTheBeginningOfAnAnswer(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		long := strings.Repeat("\n\nand more", 60)
		s.says(user("one"), reply("FIRST"+long), user("two"), reply("SECOND"+long))
		s.report(idle)
		require.NotContains(t, s.screen(), "SECOND")
		s.keys("ctrl+t")
		require.True(t, strings.HasPrefix(s.screen(), "  SECOND\n"), s.screen())
		s.keys("ctrl+t")
		require.True(t, strings.HasPrefix(s.screen(), "  FIRST\n"))
		s.keys("ctrl+t")
		require.True(t, strings.HasPrefix(s.screen(), "  FIRST\n"))
	}
}
