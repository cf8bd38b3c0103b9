package chat

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// A decision is kept and sent again until a worker takes it, and the chat says so.
func TestDecisionWaitsForAWorker(t *testing.T) {
	s := asking(t)
	s.unreachable = 2
	s.keys("y")
	_, decide := s.m.Update(pressedMsg{s.m.pressed})
	s.shows("  Approving pay …\n    amount  10\n", "\nApproving pay … · Esc takes it back")
	require.NotContains(t, s.screen(), "May pay run")
	d := s.m.decisions[0]
	s.event(lateMsg{d})
	s.shows("Approving pay: no worker has answered yet. The decision is kept and sent")
	s.run(decide)
	s.shows("talk · no worker answers", "no worker has answered yet · Esc takes it back")
	s.event(decideAgainMsg{d})
	require.Empty(t, s.asked)
	s.event(decideAgainMsg{d})
	require.Equal(t, []string{"decide talk k-00000001 approve=true remember= reason= result="}, s.asked)
	s.shows(`Approved pay {"amount":10}.`)
	s.event(decideAgainMsg{d})
	require.Len(t, s.asked, 1)
	require.Empty(t, s.m.result().Undelivered)
}

// A decision that no worker has taken can be taken back: then it is never sent, although an attempt is under way. After that, it cannot.
func TestDecisionIsTakenBackBeforeItIsSent(t *testing.T) {
	s := asking(t)
	s.keys("n", "too dear")
	_, decide := s.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.shows("Denying pay …")
	s.keys("esc")
	s.shows("The decision on pay was taken back. The call waits on.", "? May pay run")
	s.run(decide)
	require.Empty(t, s.asked)
	s.ready()
	s.shows("y approve")

	s.keys("y")
	_, decide = s.m.Update(pressedMsg{s.m.pressed})
	s.m.decisions[0].stage.Store(isSent)
	s.keys("esc")
	s.shows("The decision on pay has been sent, so it cannot be taken back.", "Approving pay")
	s.m.decisions[0].stage.Store(looksForWorker)
	s.fail = client.ErrNoWorker // the answer is lost
	s.run(decide)
	d := s.m.decisions[0]
	s.fail = client.ErrRefused
	s.event(decideAgainMsg{d})
	s.shows("The agent takes no second decision on pay.")
	require.Empty(t, s.m.decisions)
}

// At its end, the chat names all that the agent does not have, with the commands that deliver it.
func TestChatNamesWhatIsNotDelivered(t *testing.T) {
	s := asking(t)
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "post", "{}", false), waitsFor("k-00000003", "pay", "{}", false)})
	s.event(nil)
	s.unreachable = 100
	s.press("a")
	s.ready()
	s.keys("n", "too dear", "enter")
	s.m.outbox = []*outgoing{
		{id: "m-1", text: "hello you"}, {id: "m-2", text: "blue", answers: &client.Waits{AgentID: "child", Call: agent.Call{Key: "k-00000009"}}}, {id: "m-3", text: "received", received: true},
	}
	require.Equal(t, []string{
		"Not delivered: approving pay. Deliver it with `starter approve talk 00000001 --for-agent`.",
		"Not delivered: approving pay. Deliver it with `starter approve talk 00000003`.",
		"Not delivered: denying post. Deliver it with `starter deny talk 00000002 --reason 'too dear'`.",
		"Not delivered: a message. Deliver it with `starter send talk 'hello you' --message-id m-1`.",
		"Not delivered: an answer. Deliver it with `starter answer child blue --call 00000009`.",
	}, s.m.result().Undelivered)
	s.keys("/chats", "enter")
	require.Len(t, s.m.decisions, 3)
}

// The line about a denial has the arguments and the reason: folded the beginnings of both, and expanded all of them.
func TestDenialShowsTheCallAndTheReason(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "write", `{"path":"a.md","content":"one\ntwo"}`, false)})
	s.ready()
	s.keys("n", "too early: "+strings.Repeat("wait for kim ", 10)+"END", "enter")
	s.shows("Denied write ", " → too early: wait for kim")
	require.NotContains(t, s.screen(), "END")
	s.keys("tab", "enter")
	s.shows("» Denied write\n    path  a.md\n    content (2 lines, 7 bytes)\n      one\n      two\n  → too early: wait", "END\n")
	s.keys("enter", "esc", "ctrl+o")
	s.shows("Denied write\n    path  a.md\n", "END\n")
}
