package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/llm"
)

// quick is a time that no step of these tests may take. It is far more than a step takes, because tests run on slow machines and with the
// race detector.
const quick = 15 * time.Second

func (s *stage) quickly(what string, do func()) {
	s.Helper()
	began := time.Now()
	do()
	took := time.Since(began)
	s.Logf("%s: %s", what, took)
	require.Less(s, took, quick, what)
}

func TestLongConversationStaysQuick(t *testing.T) {
	s := newStage(t, true)
	for i := range 250 {
		id := fmt.Sprint(i)
		s.says(user("message "+id), reply("# Title "+id+"\n\nSome **bold** text "+strings.Repeat("and more words ", 40)+"\n\n- a\n- b\n", llm.ToolCall{ID: id, Name: "read", Arguments: "{}"}), result(id, strings.Repeat("line\n", 50)))
	}
	s.report(working)
	s.quickly("scroll to the top", func() {
		for s.keys("pgup"); !strings.Contains(s.screen(), "> message 0\n"); s.keys("pgup") {
		}
	})
	s.quickly("100 keys", func() {
		for range 100 {
			s.keys("x")
			s.screen()
		}
	})
	s.quickly("100 pieces of a growing text", func() {
		for i := range 100 {
			s.report(client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: strings.Repeat("word ", i)}})
			s.screen()
		}
	})
	s.m.tail()
	drawn := &s.m.growing.drawn[0]
	s.m.tail()
	require.Same(t, drawn, &s.m.growing.drawn[0], "the growing text is drawn once")
	s.quickly("another width", func() {
		s.event(tea.WindowSizeMsg{Width: 60, Height: 24})
		s.screen()
	})
}

func TestLargeTextDoesNotStopTheChat(t *testing.T) {
	big := strings.Repeat("some words of a result\n", 1<<20/23)
	s := newStage(t, true)
	s.quickly("the result", func() {
		s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: "read", Arguments: "{}"}), result("1", big), reply(big))
		s.screen()
	})
	s.quickly("the result in full", func() {
		s.keys("tab", "enter")
		s.screen()
	})
	s.quickly("100 screens", func() {
		for range 100 {
			s.keys("pgup")
			s.screen()
		}
	})
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	s.quickly("30 screens of a call that waits", func() {
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-1", "write", fmt.Sprintf(`{"content":%q}`, big), false)})
		for range 30 {
			s.event(tickMsg(time.Unix(0, 0)))
			s.screen()
		}
	})
	drawn := &s.m.offers["k-1"].drawn[0]
	s.m.tail()
	require.Same(t, drawn, &s.m.offers["k-1"].drawn[0], "the arguments are drawn once")
	s.m.refreshed(client.Snapshot{}, nil, nil)
	s.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.quickly("a long line", func() {
		s.says(reply("", llm.ToolCall{ID: "2", Name: "read", Arguments: "{}"}), result("2", strings.Repeat("x", 1<<20)))
		s.keys("ctrl+o")
		s.screen()
	})
	s.quickly("a paste and 100 keys after it", func() {
		s.event(tea.PasteMsg{Content: strings.ReplaceAll(big, "\n", "\r")})
		for range 100 {
			s.keys("x")
			s.screen()
		}
	})
	s.shows("> [pasted text 1: 1,048,570")
	s.keys("enter")
	require.Equal(t, "send talk steer=true: "+big+strings.Repeat("x", 100), s.asked[0])
}

func TestUnfoldedResultShowsItsBeginningAndItsEnd(t *testing.T) {
	it := item{kind: callItem, name: "read", result: "BEGIN" + strings.Repeat("é", maxResult) + strings.Repeat("\n", 3) + strings.Repeat("é", maxResult) + "END", done: true}
	got := ansi.Strip(strings.Join(it.lines(&screen.Markdown{}, 80, true, false), "\n"))
	require.Contains(t, got, "→ BEGIN")
	require.Contains(t, got, "60,0")
	require.Contains(t, got, "bytes are left out here; `starter show --json` prints them.")
	require.True(t, strings.HasSuffix(got, "END"))
	require.NotContains(t, got, "\ufffd")
}

func TestPastedLinesAreNotSentBeforeEnter(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.event(tea.PasteMsg{Content: "one\r\ntwo\n"})
	s.keys("alt+enter", "three", "shift+enter", "four")
	require.Empty(t, s.asked)
	s.shows("> one\n> two\n>\n> three\n> four\n")
	s.event(tea.WindowSizeMsg{Width: 20, Height: 12})
	s.keys("enter")
	require.Equal(t, []string{"send talk steer=false: one\ntwo\n\nthree\nfour"}, s.asked)
}
