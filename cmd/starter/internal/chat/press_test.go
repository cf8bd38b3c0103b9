package chat

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// asking returns a chat in which a call waits for an approval, and the keys apply.
func asking(t *testing.T) *stage {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", `{"amount":10}`, false)})
	s.ready()
	return s
}

// A message that begins with y or a approves nothing, although these keys approve the call.
func TestFirstLetterOfAMessageDecidesNothing(t *testing.T) {
	for _, text := range []string{"also check the date", "yes, but pay 5"} {
		s := asking(t)
		s.keys(text[:1])
		s.shows("Approves pay", "Esc takes it back · or type on")
		pressed := pressedMsg{s.m.pressed}
		s.keys(text[1:])
		s.event(pressed)
		s.shows("> " + text)
		s.keys("enter")
		require.Equal(t, []string{"send talk steer=true: " + text}, s.asked)
		s.shows("> "+text+" (the agent reads it after its calls; one of them waits for", "? May pay run", "y approve")
	}
	s := asking(t)
	s.keys("a")
	s.event(tea.PasteMsg{Content: "nd 5"})
	s.shows("> and 5\nEnter sends this message · y, n and a decide if the input is empty")
}

func TestKeyThatIsTakenBackDecidesNothing(t *testing.T) {
	s := asking(t)
	for _, back := range []string{"esc", "backspace", "ctrl+c"} {
		s.keys("y")
		pressed := pressedMsg{s.m.pressed}
		s.keys(back)
		s.event(pressed)
		require.Empty(t, s.asked)
		s.shows("> Type a message\ny approve")
	}
	s.keys("y", "enter")
	require.Equal(t, []string{"decide talk k-00000001 approve=true remember= reason= result="}, s.asked, "Enter does not wait")
}

func TestKeyDoesNotDecideOnACallThatHasGone(t *testing.T) {
	s := asking(t)
	s.keys("y")
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000002", "post", "{}", false)})
	s.event(pressedMsg{s.m.pressed})
	require.Empty(t, s.asked)
}

// The keys do not decide on a call that is not on the screen. They show it.
func TestKeyDoesNotDecideOnACallOutOfSight(t *testing.T) {
	s := asking(t)
	for i := range 30 {
		s.says(user(fmt.Sprint("message ", i)))
	}
	s.keys("pgup")
	s.shows("y shows the call that waits for your approval")
	require.NotContains(t, s.screen(), "May pay")
	s.press("y")
	require.Empty(t, s.asked)
	s.shows("? May pay run")
	s.press("y")
	require.Empty(t, s.asked, "the call was shown just now")
	s.ready()
	s.shows("y approve")
	s.press("y")
	require.Len(t, s.asked, 1)
}

// The key a approves all calls of the tool by the agent: those that come later, and those that wait already. Calls of other tools and of other
// agents wait on.
func TestKeyForAllLaterCallsApprovesThoseThatWait(t *testing.T) {
	s := asking(t)
	other := waitsFor("k-00000004", "pay", "{}", false)
	other.AgentID = "child"
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{
		waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "post", "{}", false), waitsFor("k-00000003", "pay", "{}", false), other,
	})
	s.shows("y shows more")
	s.event(nil)
	s.shows("a approve the other and all later calls of pay")
	s.press("a")
	require.Equal(t, []string{
		"decide talk k-00000001 approve=true remember=tool reason= result=", "decide talk k-00000003 approve=true remember= reason= result=",
	}, s.asked)
	require.Len(t, s.m.waits, 2)

	s = asking(t)
	s.event(tea.WindowSizeMsg{Width: 80, Height: 8})
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "post", "{}", false), waitsFor("k-00000003", "pay", "{}", false)})
	s.m.showing = nil
	s.ready()
	s.shows("a approve the other (not seen) and all later calls of pay")

	s = asking(t)
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000003", "pay", "{}", false)})
	s.event(nil)
	s.press("y")
	require.Len(t, s.asked, 1, "the key y approves one call")
}

// The first line of a call that waits is on the screen, also if the call is longer than the screen, or if further calls wait below it.
func TestFirstLineOfACallThatWaitsIsOnTheScreen(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.says(user("go"))
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{
			waitsFor("k-00000001", "write", `{"content":"`+strings.Repeat(`line\n`, 100)+`"}`, false), waitsFor("k-00000002", "pay", "{}", false),
		})
		s.ready()
		s.shows("? May write run", "y shows more of this call")
		s.keys("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
		s.shows("May pay run", "y shows the call")
		require.NotContains(t, s.screen(), "? May")
		s.press("y")
		s.ready()
		s.shows("left out here", "61 lines unseen · n deny")
		s.press("y")
		s.shows("? May pay run", "Approved write")
		require.Equal(t, []string{"decide talk k-00000001 approve=true remember= reason= result="}, s.asked)
	}
}

// The keys decide on the call that is selected. They decide nothing while a call is selected that has ended.
func TestKeysDecideOnTheSelectedCall(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: "read", Arguments: "{}"}), result("1", "it"))
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "post", "{}", false)})
		s.ready()
		s.keys("tab")
		s.shows("» read", "Enter expands this call")
		s.press("y")
		require.Empty(t, s.asked)
		require.NotContains(t, s.screen(), "»")
		s.ready()
		s.shows("? May pay run")
		s.keys("shift+tab")
		s.press("y")
		require.Empty(t, s.asked, "the call was selected just now")
		s.ready()
		s.shows("  May pay run", "? May post run")
		s.press("y")
		require.Equal(t, []string{"decide talk k-00000002 approve=true remember= reason= result="}, s.asked)
		s.shows("? May pay run")
	}
}

// A key that decides is never sent as a message while a call waits. An answer to a question is.
func TestKeyThatDecidesIsNoMessage(t *testing.T) {
	s := asking(t)
	for _, text := range []string{"y", "N", " a "} {
		s.m.input.SetValue(text)
		s.keys("enter")
	}
	require.Empty(t, s.asked)
	s.shows("“y” was not sent, because a call waits for your approval", "“N” was not sent", "> Type a message")
	s.m.refreshed(client.Snapshot{}, nil, nil) // the call is not known yet
	s.m.input.SetValue("y")
	s.keys("enter")
	require.Empty(t, s.asked)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForAnswer})
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", agent.AskUser, `{"question":"Which?"}`, true)})
	s.keys("y", "enter")
	require.Equal(t, []string{"decide talk q approve=false remember= reason= result=y"}, s.asked)
}

// An interrupt ends the calls of the turn. While one of them waits for a person, Esc alone does not interrupt.
func TestEscTwiceInterruptsWhileACallWaits(t *testing.T) {
	s := asking(t)
	s.keys("x", "esc", "esc")
	s.shows("Press Esc again to interrupt")
	s.keys("x", "esc", "esc")
	require.Empty(t, s.asked)
	s.keys("tab", "esc")
	require.Empty(t, s.asked, "another key was between")
	s.keys("esc", "esc")
	require.Equal(t, []string{"interrupt talk"}, s.asked)
	s.event(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	require.Len(t, s.asked, 2, "some terminals send both at once")
}

// A key that comes before the keys apply decides nothing, and the status says so until the next key.
func TestKeyThatComesTooEarlyIsNamed(t *testing.T) {
	for _, key := range []string{"y", "n", "a"} {
		s := newStage(t, true)
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", "{}", false)})
		s.event(nil)
		require.NotContains(t, s.screen(), "too early")
		s.keys(key)
		s.shows("talk · the key came too early: press it again")
		s.ready()
		s.shows("too early", "y approve")
		s.keys("y")
		require.NotContains(t, s.screen(), "too early")
		require.NotNil(t, s.m.pressed)
		require.Empty(t, s.asked)
	}
}
