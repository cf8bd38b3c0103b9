package chat

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// The text of a reply that was on the screen stays there if the reply is interrupted, also if a report without text comes before the
// interrupt. A text whose reply has come is not shown twice.
func TestInterruptedTextStays(t *testing.T) {
	s := newStage(t, true)
	growing := client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: "The quick\x1b[2J", Said: 1200, Attempt: 1}}
	s.says(user("speak"))
	s.report(growing, working, client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
	s.shows("  …The quick\\x1b[2J\n  (this reply ended after 1,200 bytes; the agent does not keep it)\n", "interrupted, waits for you")
	s.says(user("go on"))
	s.report(growing)
	s.says(reply("The quick fox."))
	s.report(idle)
	require.Equal(t, 2, strings.Count(s.screen(), "The quick"))
}

// Below the answer of a turn stand its time, cost and tokens. A turn whose beginning the chat has not seen has no such line.
func TestTurnEndsWithWhatItTook(t *testing.T) {
	used := func(n int) client.Snapshot {
		return client.Snapshot{Usage: agent.Usage{Usage: llm.Usage{InputTokens: 1000 * n, OutputTokens: n}, Cost: agent.Money(n) * agent.Dollar / 100}}
	}
	at := func(seconds int64, p client.Progress) progressMsg {
		return progressMsg{reports: []client.Progress{p}, more: func() tea.Msg { return nil }, at: time.Unix(seconds, 0)}
	}
	for _, started := range []bool{true, false} {
		s := newStage(t, started)
		event := func(msg progressMsg) {
			msg.attached = s.m.attached
			s.event(msg)
		}
		if started {
			event(at(1, working))
			event(at(50, idle))
			s.m.refreshed(used(1), nil, nil)
			require.Empty(t, s.m.items, "the chat has not seen the beginning")
		} else {
			s.keys("hi", "enter")
		}
		s.says(user("hi"))
		event(at(100, working))
		event(at(103, client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval}))
		event(at(104, working))
		s.says(reply("Hello."))
		event(at(112, idle))
		s.says(user("and"))
		s.m.refreshed(used(3), nil, nil)
		want := "  Hello.\n  12s · $0.0200 · 2,002 tokens\n\n> and\n"
		if !started {
			want = "  Hello.\n  12s · $0.0300 · 3,003 tokens\n\n> and\n"
		}
		s.shows(want)
		s.m.refreshed(used(4), nil, nil)
		require.Equal(t, 1, strings.Count(s.screen(), "  12s · "), "once")
	}
}

// When the chat has ended, the conversation is on the terminal: without the screen of the chat, and without colours if these are off.
func TestConversationIsLeftOnTheTerminal(t *testing.T) {
	s := newStage(t, true)
	require.Empty(t, s.m.left(true))
	s.event(tea.WindowSizeMsg{Width: 40, Height: 5})
	s.says(user("hi"), reply("**Hello**\x1b[2J\n\n"+strings.Repeat("more\n\n", 30)+"the end"))
	require.Contains(t, s.m.left(true), "\x1b[1mHello\x1b[m")
	left := s.m.left(false)
	require.True(t, strings.HasPrefix(left, "\n> hi\n\n  Hello\\x1b[2J\n"), left)
	require.True(t, strings.HasSuffix(left, "\n  the end\n"))
	require.NotContains(t, left, "\x1b")
	s.says(reply(strings.Repeat("line\n\n", 12_000)))
	require.LessOrEqual(t, strings.Count(s.m.left(false), "\n"), maxLeft)
}

// Esc clears an input that has a text, and interrupts the agent only if the input is empty. Home and End move the cursor in a text, and
// otherwise the screen.
func TestEscHomeAndEndDependOnTheInput(t *testing.T) {
	s := newStage(t, true)
	s.says(user("first"), reply(strings.Repeat("more\n\n", 30)+"the end"))
	s.report(working)
	s.keys("b", "home", "a", "end", "c")
	s.shows("> abc\nEnter steers · Esc clears the input")
	s.keys("esc")
	s.shows("> Type a message")
	require.Empty(t, s.asked)
	s.keys("esc")
	require.Equal(t, []string{"interrupt talk"}, s.asked)
	s.keys("home")
	s.shows("> first\n")
	s.keys("end")
	s.shows("the end\n")
	require.Zero(t, s.m.up)
}

// /copy puts the last reply into the clipboard as the model wrote it.
func TestLastReplyIsCopied(t *testing.T) {
	s := newStage(t, true)
	s.keys("/copy", "enter")
	s.shows("Not done: there is no reply yet.")
	s.keys("esc")
	s.says(user("hi"), reply("**Hello**"), user("and"), reply("**Bye**\nnow"))
	cmd, err := s.m.copyReply()
	require.NoError(t, err)
	require.Equal(t, tea.SetClipboard("**Bye**\nnow")(), cmd())
	s.shows("Sent the last reply (11 bytes) to the clipboard of the terminal, if")
	s.m.tmux = true
	cmd, err = s.m.copyReply()
	require.NoError(t, err)
	const set = "]52;c;KipCeWUqKgpub3c=\a"
	require.Equal(t, tea.RawMsg{Msg: "\x1b" + set + "\x1bPtmux;\x1b\x1b" + set + "\x1b\\"}, cmd())
	s.shows("through tmux")
}
