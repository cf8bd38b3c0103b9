package chat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen/screentest"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

type recorder struct {
	asked   []string
	reports []client.Progress
	// fail is the error of each request. fails are those of the next requests.
	fail  error
	fails []error
	// unreachable is the number of times for which no worker answers.
	unreachable int
	// ids are the IDs of the messages. found says that an agent with the ID exists when it is started.
	ids         []string
	found       bool
	permissions []agent.Permission
	snap        client.Snapshot
	agents      []client.Entry
	// states are the states of the agents in the list, by their IDs.
	states map[string]client.Snapshot
	// answer is the answer to questions aside.
	answer string
}

func (r *recorder) note(format string, args ...any) error {
	r.asked = append(r.asked, fmt.Sprintf(format, args...))
	if len(r.fails) > 0 {
		next := r.fails[0]
		r.fails = r.fails[1:]
		return next
	}
	return r.fail
}

func (r *recorder) Start(_ context.Context, o client.StartOptions) (client.Started, error) {
	r.ids = append(r.ids, o.MessageID)
	if r.found {
		return client.Started{ID: o.ID, Found: true}, r.note("start %s: %s", o.ID, o.Message)
	}
	return client.Started{ID: o.ID, MessageID: o.MessageID}, r.note("start %s: %s", o.ID, o.Message)
}

func (r *recorder) Send(_ context.Context, id string, m client.Message) (client.Sent, error) {
	r.ids = append(r.ids, m.ID)
	model := ""
	if m.Overrides.Model != "" {
		model = " model=" + m.Overrides.Model
	}
	return client.Sent{MessageID: m.ID}, errors.Join(m.Check(), r.note("send %s steer=%t%s: %s", id, m.Steer, model, m.Text))
}

func (r *recorder) Await(context.Context, string, func(client.Progress)) (client.Snapshot, error) {
	if r.unreachable > 0 {
		r.unreachable--
		return client.Snapshot{}, client.ErrNoWorker
	}
	return client.Snapshot{}, nil
}

func (r *recorder) Watch(context.Context, string, int) iter.Seq2[client.Progress, error] {
	return func(yield func(client.Progress, error) bool) {
		for _, p := range r.reports {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (r *recorder) List(context.Context, client.ListOptions) iter.Seq2[client.Entry, error] {
	return func(yield func(client.Entry, error) bool) {
		for _, e := range r.agents {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r *recorder) DescribeEntry(_ context.Context, e client.Entry) (client.Snapshot, error) {
	snap, known := r.states[e.ID]
	if !known {
		return client.Snapshot{}, client.ErrNotFound
	}
	return snap, nil
}

func (r *recorder) ShowRecorded(context.Context, string) (client.Snapshot, error) {
	return r.snap, nil
}

func (r *recorder) Tree(context.Context, string) ([]client.Entry, error) { return nil, nil }

func (r *recorder) Pending(context.Context, string) ([]client.Waits, error) { return nil, nil }

func (r *recorder) Decide(_ context.Context, w client.Waits, d agent.Decision) error {
	result := ""
	if d.Result != nil {
		result = d.Result.Content
	}
	arguments := ""
	if d.Arguments != "" {
		arguments = " arguments=" + d.Arguments
	}
	return r.note("decide %s %s approve=%t remember=%s reason=%s result=%s%s", w.AgentID, w.Call.Key, d.Approve, d.Remember, d.Reason, result, arguments)
}

func (r *recorder) Permissions(context.Context, string) ([]agent.Permission, error) {
	return r.permissions, nil
}

func (r *recorder) Revoke(_ context.Context, id string, key agent.Key) error {
	return r.note("revoke %s %s", id, key)
}

func (r *recorder) Aside(_ context.Context, id, question string) (string, error) {
	return r.answer, r.note("aside %s: %s", id, question)
}

func (r *recorder) Interrupt(_ context.Context, id string) error { return r.note("interrupt %s", id) }

func (r *recorder) Fork(_ context.Context, id string, o client.ForkOptions) (client.Started, error) {
	return client.Started{ID: "fork"}, r.note("fork %s at %d mode %s", id, o.At, o.Mode)
}

func (r *recorder) RequestPartialText(context.Context, string, time.Duration) error { return nil }

type stage struct {
	*testing.T
	*recorder
	m    *model
	quit bool
}

// newStage returns a chat with the agent talk, which exists already if started is true.
func newStage(t *testing.T, started bool) *stage {
	o := Options{ID: "talk", NoWorker: "no worker answers", GoOn: func(id string, _ client.Status) string { return "starter resume " + id }}
	if !started {
		o.Start = &client.StartOptions{Agent: "x", Mode: agent.Chat}
	}
	s := &stage{T: t, recorder: &recorder{}}
	o.Agents = s.recorder
	s.m = newModel(t.Context(), o)
	s.m.after = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	s.m.refreshing = true // the tests set what a refresh reads
	s.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	return s
}

// event passes an event to the chat and carries out what the chat asks for, except for timers.
func (s *stage) event(msg tea.Msg) {
	_, cmd := s.m.Update(msg)
	s.run(cmd)
}

func (s *stage) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.run(c)
		}
	case tea.QuitMsg:
		s.quit = true
	default:
		s.event(msg)
	}
}

func (s *stage) report(reports ...client.Progress) {
	s.event(progressMsg{attached: s.m.attached, reports: reports, more: func() tea.Msg { return nil }, at: time.Unix(100, 0)})
}

func (s *stage) says(messages ...agent.Message) {
	for _, m := range messages {
		index := 0
		for _, it := range s.m.items {
			index = max(index, it.index+1)
		}
		s.report(client.Progress{Message: &m, Index: index})
	}
}

func (s *stage) keys(names ...string) {
	special := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "pgup": {Code: tea.KeyPgUp}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgdown": {Code: tea.KeyPgDown}, "ctrl+f": {Code: 'f', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't', Mod: tea.ModCtrl},
		"tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "backspace": {Code: tea.KeyBackspace}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+o": {Code: 'o', Mod: tea.ModCtrl},
	}
	for _, name := range names {
		if k, ok := special[name]; ok {
			s.event(tea.KeyPressMsg(k))
			continue
		}
		for _, r := range name {
			s.event(tea.KeyPressMsg(tea.Key{Code: r, Text: string(r)}))
		}
	}
}

// ready lets the pause pass after which the keys decide on the call that waits.
func (s *stage) ready() {
	s.event(nil)
	s.event(readyMsg{s.m.showing})
}

// press presses the key y or a, and nothing else.
func (s *stage) press(letter string) {
	s.keys(letter)
	s.event(pressedMsg{s.m.pressed})
}

func (s *stage) screen() string {
	s.Helper()
	v := s.m.View()
	rest := screentest.Styling.ReplaceAllString(v.Content, "")
	require.Equal(s, printable.Text(rest), rest)
	lines := strings.Split(ansi.Strip(v.Content), "\n")
	require.Len(s, lines, s.m.height)
	for i, line := range lines {
		require.LessOrEqual(s, ansi.StringWidth(line), s.m.width, line)
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n")
}

func (s *stage) shows(texts ...string) {
	s.Helper()
	screen := s.screen()
	for _, text := range texts {
		require.Contains(s, screen, text)
	}
}

func user(text string) agent.Message {
	return agent.Message{Message: llm.Message{Role: llm.User, Content: text}, Key: agent.Key("m-" + text)}
}

func reply(text string, calls ...llm.ToolCall) agent.Message {
	return agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text, ToolCalls: calls}, Time: 1000}
}

func result(id, text string) agent.Message {
	return agent.Message{Message: llm.Message{Role: llm.Tool, ToolCallID: id, Content: text}, Time: 3500}
}

var (
	working = client.Progress{Status: client.Running}
	idle    = client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForMessage}
)

func TestConversationIsShown(t *testing.T) {
	s := newStage(t, true)
	s.snap = client.Snapshot{
		Usage:         agent.Usage{ModelCalls: 2, ToolCalls: 1, Usage: llm.Usage{InputTokens: 12345, OutputTokens: 67}, Cost: agent.Dollar / 4},
		ContextTokens: 5432, ContextLimit: 100000, Models: []llm.Candidate{{Name: "main", Model: "gpt"}},
	}
	s.m.refreshed(s.snap, nil, nil)
	s.says(user("read it"), reply("I **look**.", llm.ToolCall{ID: "1", Name: "read_file", Arguments: `{"path":"notes.md"}`}))
	s.report(working)
	s.shows(`▸ read_file {"path":"notes.md"} …`, "Esc interrupts")
	s.says(result("1", "line one\nline two"), reply("- a\n- b"))
	s.report(idle)
	require.Equal(t, `> read it

  I look.
▸ read_file {"path":"notes.md"} → line one line two  (2.5s)

  • a
  • b
talk · waits for you · $0.2500 · context 5,432 of 100,000 · main (gpt)
> Type a message
Enter sends · /help · Ctrl-J new line · Ctrl-O expands · Ctrl-C twice detaches`, s.screen())
	s.keys("ctrl+o")
	s.shows("▾ read_file  (2.5s)\n    path  notes.md\n  → line one\n    line two")
	s.keys("ctrl+o", "/cost", "enter", "/model", "enter")
	s.shows("12,345 tokens in", "cost $0.2500", "The model is main (gpt)", "starter reload talk")
	require.Empty(t, s.asked)
}

func TestTextGrowsAndIsReplacedByTheMessage(t *testing.T) {
	s := newStage(t, true)
	s.says(user("hi"))
	s.report(client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: "The **qui", Said: 9, Attempt: 1}})
	s.shows("The **qui", "works 0 s")
	s.event(tickMsg(time.Unix(107, 0)))
	s.shows("works 7 s")
	retry := &client.Retry{Attempt: 2, Message: "the worker was lost"}
	s.report(client.Progress{Status: client.Running, Retry: retry})
	s.shows("attempt 2: the worker was lost")
	s.report(client.Progress{Status: client.Running, Retry: retry, PartialText: &client.PartialText{Text: "The **qu", Said: 8, Attempt: 2}})
	s.shows("The **qu", "works 0 s, attempt 2")
	s.says(reply("The **quick** fox"))
	s.shows("The quick fox")
	require.NotContains(t, s.screen(), "The **qui")
}

func TestOutputOfARunningCallIsShownUntilItsEnd(t *testing.T) {
	s := newStage(t, true)
	s.says(user("build"), reply("", llm.ToolCall{ID: "1", Name: "shell", Arguments: `{"command":"make"}`}, llm.ToolCall{ID: "2", Name: "fetch", Arguments: "{}"}))
	s.report(client.Progress{Status: client.Running, ToolOutputs: []client.ToolOutput{
		{CallID: "1", Name: "shell", Text: "a\nb\nc\nd\ne\nf \x1b[2J\n"}, {CallID: "gone", Name: "old", Text: "of no call"},
	}})
	s.shows("▸ shell make …\n  b\n  c\n  d\n  e\n  f \\x1b[2J\n▸ fetch {} …")
	require.NotContains(t, s.screen(), "of no call")
	s.report(client.Progress{Status: client.Running, ToolOutputs: []client.ToolOutput{{CallID: "1", Name: "shell", Text: "g"}}})
	s.shows("…\n  g\n▸ fetch")
	s.keys("ctrl+o")
	s.shows("    $ make\n  g\n")
	s.keys("ctrl+o")
	s.report(client.Progress{Status: client.Running}) // the call has ended, but another call of the reply runs
	s.shows("make …\n▸ fetch")
	s.report(client.Progress{Status: client.Running, ToolOutputs: []client.ToolOutput{{CallID: "1", Name: "shell", Text: "h"}}})
	s.says(result("1", "made"), result("2", "got"))
	s.shows("→ made")
	require.NotContains(t, s.screen(), "\n  h\n")
}

func TestFirstMessageStartsTheAgentAndLaterOnesAreSent(t *testing.T) {
	s := newStage(t, false)
	s.shows("Your first message starts agent talk", "not started")
	s.keys("enter", "hello", "ctrl+j", "you", "enter")
	require.Equal(t, []string{"start talk: hello\nyou"}, s.asked)
	s.shows("> hello\n> you (the agent reads it next)")
	s.says(agent.Message{Message: llm.Message{Role: llm.User, Content: "hello\nyou"}, Key: agent.Key(s.ids[0])})
	require.NotContains(t, s.screen(), "reads it next")
	s.report(working)
	s.keys("faster", "enter")
	s.report(idle)
	s.keys("thanks", "enter")
	require.Equal(t, []string{"send talk steer=true: faster", "send talk steer=false: thanks"}, s.asked[1:])
}

// If the reply to a start is lost, the agent may have the message. The chat then sends the message with the same ID.
func TestFirstMessageIsSentOnceAlthoughAReplyWasLost(t *testing.T) {
	s := newStage(t, false)
	s.fail = client.ErrNoServer
	s.keys("hello", "enter")
	s.shows("Temporal does not answer", "> hello (being sent)")
	s.fail, s.found = nil, true
	s.event(startAgainMsg{})
	require.Equal(t, []string{"start talk: hello", "start talk: hello", "send talk steer=true: hello"}, s.asked)
	require.NotEmpty(t, s.ids[0])
	require.Equal(t, []string{s.ids[0], s.ids[0]}, s.ids[1:])

	s = newStage(t, false)
	s.fail = errors.New("the reply was lost")
	s.keys("hello", "enter")
	s.fail, s.found = nil, true
	s.keys("enter") // the person sends the text that came back
	require.Len(t, s.ids, 3)
	require.Equal(t, []string{s.ids[0], s.ids[0]}, s.ids[1:])
}

func TestMessageThatWasNotSentComesBack(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.fail = errors.New("refused \x1b[2J")
	s.keys("hello", "enter")
	s.shows("The message was not sent:\n  refused \\x1b[2J", "> hello")
	first := s.m.failed.id
	s.fail = nil
	s.keys("enter")
	require.Len(t, s.m.outbox, 1)
	require.Equal(t, first, s.m.outbox[0].id, "the agent takes it once")
}

func TestMessageWaitsForAWorker(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.m.outbox = []*outgoing{{id: "m", text: "hello"}}
	s.event(sentMsg{attached: s.m.attached, out: s.m.outbox[0], err: client.ErrNoWorker})
	require.Equal(t, []string{"send talk steer=false: hello"}, s.asked, "it is sent again")
	s.unreachable = 3
	s.keys("more", "enter")
	require.Equal(t, "send talk steer=false: more", s.asked[1])
}

func waitsFor(key, name, arguments string, external bool) client.Waits {
	c := agent.Call{Key: agent.Key(key), Name: name, Arguments: arguments}
	switch {
	case !external:
		c.Wait.For = agent.WaitsForApproval
	case name == agent.AskUser:
		c.Wait.For = agent.WaitsForAnswer
	default:
		c.Wait.For = agent.WaitsForResult
	}
	return client.Waits{AgentID: "talk", Agent: "x", Call: c}
}

// A person judges a call by what it would do: the lines of a text, the lines that an edit removes and adds, and a command as it would run.
// Long arguments are cut, the chat says how much is left out, and Ctrl-O shows all.
func TestCallThatWaitsShowsWhatItWouldDo(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	shown := func(tool, arguments string) {
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-"+tool, tool, arguments, false)})
	}
	shown("edit_file", `{"path":"a.go","old":"one\ntwo","new":"one\nthree"}`)
	s.shows("? May edit_file run with these arguments?\n    path  a.go\n    old → new (-1 +1 lines, 7 → 9 bytes)\n        one\n      - two\n      + three\n")
	for text, colour := range map[string]string{"two": "31", "three": "32"} {
		require.Contains(t, s.m.View().Content, "\x1b["+colour+"m"+text+"\x1b[m", "the lines of an edit have colours")
	}
	long := strings.Repeat(`same\n`, 30)
	shown("patch_file", `{"path":"a.go","old":"`+long+`two","new":"`+long+`three"}`)
	kept := strings.Repeat("        same\n", 3)
	s.shows("bytes)\n      … 27 unchanged lines: Ctrl-O shows them\n" + kept + "      - two\n      + three\n")
	s.keys("ctrl+o")
	s.shows("bytes)\n" + kept + kept)
	s.keys("ctrl+o")
	shown("shell", `{"command":"go test ./..."}`)
	s.shows("? May shell run with these arguments?\n    $ go test ./...\n")
	s.event(tea.WindowSizeMsg{Width: 80, Height: 100})
	shown("write_file", `{"path":"long.md","content":"`+strings.Repeat(`line\n`, 50)+`the end"}`)
	s.shows("content (51 lines, 257 bytes)\n      line\n", "… 13 lines with 55 characters are left out here, and a decision is about all\n  of them: Ctrl-O shows them")
	require.NotContains(t, s.screen(), "the end")
	s.keys("ctrl+o")
	s.shows("      line\n      the end\n")
	require.NotContains(t, s.screen(), "left out")
}

func TestCallIsDecidedInPlace(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	waits := []client.Waits{waitsFor("k-00000001", "pay", `{"amount":10,"to":"a\u001b[2J"}`, false), waitsFor("k-00000002", "post", "{}", false), waitsFor("k-00000003", "post", "{}", false)}
	s.m.refreshed(client.Snapshot{}, nil, waits)
	s.shows("? May pay run with these arguments? (call 00000001)\n    amount  10\n    to      \"a\\u001b[2J\"", "waits for an approval")
	s.keys("y")
	require.Empty(t, s.asked, "a key that was typed when the call appeared decides nothing")
	s.ready()
	s.shows("y approve · n deny · a approve all later calls of pay")
	s.press("y")
	require.Equal(t, []string{"decide talk k-00000001 approve=true remember= reason= result="}, s.asked)
	s.shows("Approved pay {\"amount\":10,", "? May post run")
	s.ready()
	s.keys("n", "too dear", "enter")
	require.Equal(t, "decide talk k-00000002 approve=false remember= reason=too dear result=", s.asked[1])
	s.ready()
	s.keys("n", "esc")
	s.press("a")
	require.Equal(t, "decide talk k-00000003 approve=true remember=tool reason= result=", s.asked[2])
	s.m.refreshed(client.Snapshot{}, nil, waits)
	s.ready()
	s.event(tea.WindowSizeMsg{Width: 80, Height: 8})
	s.shows("? May pay run", "y approve")
	s.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.asked = nil
	s.keys("/approve", "enter")
	require.Empty(t, s.asked)
	s.shows("Not done: 3 calls wait: 00000001 (pay), 00000002 (post), 00000003 (post).", "> /approve\n")
	s.keys(" 00000002 --for-agent-call", "enter")
	require.Equal(t, []string{"decide talk k-00000002 approve=true remember=call reason= result="}, s.asked)
	s.keys("/deny 00000003 far too dear", "enter", "/approve --arguments {\"amount\": 1}", "enter")
	require.Equal(t, []string{
		"decide talk k-00000003 approve=false remember= reason=far too dear result=", `decide talk k-00000001 approve=true remember= reason= result= arguments={"amount": 1}`,
	}, s.asked[1:])
	s.shows("Denied post {} → far too dear", "Approved pay with other arguments.")
}

func TestQuestionIsAnsweredInPlace(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForAnswer})
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", agent.AskUser, `{"question":"Which?","choices":["red","blue"]}`, true)})
	s.shows("? Question: Which?", "1  red", "2  blue", "Enter answers the question")
	s.keys("2", "enter")
	require.Equal(t, []string{"decide talk q approve=false remember= reason= result=blue"}, s.asked)
	require.NotContains(t, s.screen(), "Which?")
}

func TestSubAgentsAreATree(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Running, WaitsFor: client.WaitsForSubAgents})
	w := waitsFor("k", "pay", "{}", false)
	w.AgentID = "b"
	s.m.refreshed(client.Snapshot{}, []client.Entry{
		{ID: "talk"}, {ID: "a", Agent: "researcher", Parent: "talk", Status: client.Running, Task: "find\x1b it"},
		{ID: "c", Agent: "writer", Parent: "talk", Status: client.Completed}, {ID: "b", Agent: "reader", Parent: "a", Status: client.Running},
	}, []client.Waits{w})
	s.shows("sub-agents (1 ended)\n  └ researcher works: find\\x1b it\n    └ reader waits for an approval", "May pay of sub-agent b run")
	s.keys("ctrl+o")
	s.shows("  ├ researcher works: find\\x1b it\n  │ └ reader waits for an approval\n  └ writer completed")
	s.keys("ctrl+o")
	s.m.refreshed(client.Snapshot{Children: []client.Child{{ID: "a", Status: client.Failed}}}, []client.Entry{{ID: "talk"}, {ID: "a", Agent: "researcher", Parent: "talk", Status: client.Running}}, nil)
	s.shows("sub-agents (1 ended)")
	require.NotContains(t, s.screen(), "researcher", "the status of the agent itself is newer than that of the list")
}

func TestEscInterruptsAndCtrlCTwiceDetaches(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("esc")
	require.Empty(t, s.asked, "nothing runs")
	s.report(working)
	s.keys("esc")
	require.Equal(t, []string{"interrupt talk"}, s.asked)
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
	s.shows("Interrupted. The next message goes on", "talk · interrupted, waits for you")
	s.report(working)
	s.keys("ctrl+c")
	s.shows("Press Ctrl-C again to detach; the agent goes on.")
	s.keys("x", "ctrl+c")
	require.False(t, s.quit, "another key was between")
	s.keys("ctrl+c")
	require.True(t, s.quit)
	require.Equal(t, Result{ID: "talk", Started: true, Status: client.Running}, s.m.result())
}

// A person who comes back to an agent sees that its turn was interrupted.
func TestInterruptionIsShownInALaterChat(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.says(user("go"))
		s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
		s.shows("> go\n\nInterrupted. The next message goes on")
		s.says(user("on"))
		s.report(working)
		require.NotContains(t, s.screen(), "Interrupted.")
		s.keys("esc")
		s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
		require.Equal(t, 1, strings.Count(s.screen(), "Interrupted."))
	}
}

// The help is read from its first line.
func TestHelpBeginsWithItsFirstLine(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		for i := range 30 {
			s.says(user(fmt.Sprint("message ", i)))
		}
		s.report(idle)
		s.keys("/help", "enter")
		s.shows("Keys\n", "Enter       sends")
		s.report(idle)
		s.shows("Keys\n", "Enter       sends")
	}
}

// A message that a person types after Esc reaches the agent after the interrupt. If it came first, the interrupt would hold its turn.
func TestMessageFollowsTheInterrupt(t *testing.T) {
	s := newStage(t, true)
	s.report(working)
	_, interrupt := s.m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	s.keys("go on", "enter")
	require.Empty(t, s.asked)
	s.run(interrupt)
	require.Equal(t, []string{"interrupt talk", "send talk steer=true: go on"}, s.asked)
	s.fail = errors.New("refused")
	s.keys("esc", "again", "enter")
	require.Equal(t, []string{"interrupt talk", "send talk steer=true: again"}, s.asked[2:], "also if the interrupt fails")
}

func TestForkGoesOnInANewAgent(t *testing.T) {
	s := newStage(t, true)
	s.says(user("one"), reply("two"), user("three"))
	s.keys("ctrl+o")
	s.shows("/fork 2 goes back to here\n> three")
	s.reports = []client.Progress{{Message: &agent.Message{Message: llm.Message{Role: llm.User, Content: "one"}}}, idle}
	s.keys("/fork x", "enter", "ctrl+u", "/fork 2", "enter")
	require.Equal(t, []string{"fork talk at 2 mode chat"}, s.asked)
	s.shows("> one\n\nThis is fork, a fork of talk.", "fork · waits for you")
	require.NotContains(t, s.screen(), "three")
}

func TestAgentThatHasEndedShowsItsHistoryAndHowToGoOn(t *testing.T) {
	s := newStage(t, true)
	s.says(user("one"), reply("two"))
	s.event(progressMsg{attached: s.m.attached, reports: []client.Progress{{Status: client.Failed}}})
	s.shows("> one", "two", "The agent has ended (failed)", "starter resume talk")
	s.keys("more", "enter")
	require.Empty(t, s.asked)
	s.shows("> more")
}

func TestHistoryIsScrolledAndStaysInPlace(t *testing.T) {
	s := newStage(t, true)
	for i := range 30 {
		s.says(user(fmt.Sprint("message ", i)))
	}
	s.report(idle)
	s.shows("message 29")
	s.keys("pgup")
	s.shows("PgDn shows newer lines")
	before := s.screen()
	s.says(user("new"))
	require.Equal(t, before, s.screen())
	s.keys("pgup", "pgup", "pgup", "pgup", "pgup")
	s.shows("> message 0")
	s.keys("pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
	s.shows("> new")
	s.keys("up", "up")
	s.shows("> message 29\nEnter sends this earlier text · Up older · Down newer · PgUp PgDn scroll")
	s.keys("down", "down")
	s.shows("> Type a message")
}

func TestScreenFitsEveryTerminal(t *testing.T) {
	s := newStage(t, true)
	s.says(user("a long message of the person "+strings.Repeat("x", 200)), reply("# Title\n\n```\n"+strings.Repeat("y", 200)+"\n```\n\n| a | b |\n|---|---|\n| 1 | "+strings.Repeat("z", 90)+" |",
		llm.ToolCall{ID: "1", Name: strings.Repeat("n", 120), Arguments: `{"日本":"` + strings.Repeat("語", 100) + `"}`}), result("1", strings.Repeat("r ", 200)))
	s.report(client.Progress{NoWorker: true})
	s.shows("no worker answers")
	s.event(tea.PasteMsg{Content: strings.Repeat("pasted line\n", 30) + "\x1b[2J"})
	for _, width := range []int{80, 120, 40, 20, 7} {
		for _, height := range []int{24, 50, 10, 5} {
			for range 2 {
				s.event(tea.WindowSizeMsg{Width: width, Height: height})
				s.screen()
				s.keys("ctrl+o")
			}
		}
	}
	s.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.keys("enter")
	require.Equal(t, 30, strings.Count(s.asked[0], "pasted line\n"), "a pasted text is sent whole")
}

func TestResetRemovesTheMessagesAfterIt(t *testing.T) {
	s := newStage(t, true)
	s.says(user("one"), reply("two"), user("three"))
	s.report(client.Progress{Rewound: true, Index: 1})
	s.shows("> one", "The agent was reset")
	require.NotContains(t, s.screen(), "two")
}

func TestEventsOfAnEarlierAgentAreDropped(t *testing.T) {
	s := newStage(t, true)
	old := s.m.attached
	s.m.attach("other", true)
	m := user("late")
	s.event(progressMsg{attached: old, reports: []client.Progress{{Message: &m}}})
	s.event(refreshedMsg{attached: old, snap: client.Snapshot{ContextTokens: 7}})
	require.NotContains(t, s.screen(), "late")
	require.NotContains(t, s.screen(), "context 7")
}

func TestAttackNothingReachesTheTerminalAsAnEscape(t *testing.T) {
	for _, text := range screentest.Hostile() {
		s := newStage(t, true)
		s.m.id = "talk\x1b"
		s.says(user(text), reply(text, llm.ToolCall{ID: "1", Name: text, Arguments: text}), result("1", text), agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}, Notice: true})
		s.report(client.Progress{Status: client.Running, PartialText: &client.PartialText{Text: text, Said: 5000}, Retry: &client.Retry{Message: text}})
		s.m.refreshed(client.Snapshot{Models: []llm.Candidate{{Name: text, Model: text}}, Failure: text}, []client.Entry{{ID: "talk"}, {ID: text, Agent: text, Task: text, Parent: "talk", Status: client.Running}},
			[]client.Waits{waitsFor("k", text, text, false), waitsFor("q", agent.AskUser, fmt.Sprintf(`{"question":%q,"choices":[%q]}`, text, text), true), waitsFor("r", text, text, true)})
		s.m.tellDone(verdict{waitsFor("d", text, text, false), agent.Decision{Reason: text}})
		s.keys("/model", "enter")
		s.event(tea.WindowSizeMsg{Width: 80, Height: 200})
		for range 2 {
			s.screen()
			s.keys("ctrl+o")
		}
		s.keys("ctrl+f")
		s.event(tea.PasteMsg{Content: text + "\xff\n"})
		s.screen()
		s.keys("esc")
		s.m.openPicker(chatsMsg{attached: s.m.attached, agents: []client.Entry{{ID: text, Agent: text, Task: text}, {ID: text}}})
		s.screen()
	}
}

// A message enters the turn after the results of the open calls. If one of these waits for an approval, the chat says so.
func TestMessageBehindAnApprovalSaysSo(t *testing.T) {
	const behind = "(the agent reads it after its calls;"
	s := asking(t)
	s.keys("hello", "enter")
	s.shows("> hello " + behind)
	s.m.refreshed(client.Snapshot{}, nil, nil)
	s.shows("> hello (the agent reads it next)")

	w := waitsFor("k", "pay", "{}", false)
	w.AgentID = "below"
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{w})
	s.report(client.Progress{Status: client.Running, WaitsFor: client.WaitsForSubAgents})
	s.shows("> hello " + behind)
	s.report(working) // the sub-agent works in the background
	s.shows("> hello (the agent reads it next)")
}

func TestHeldAgentShowsTheWholeFailure(t *testing.T) {
	s := newStage(t, true)
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForRelease})
	s.m.refreshed(client.Snapshot{Failure: strings.Repeat("a long reason ", 20) + "END\x1b[2J"}, nil, nil)
	s.shows("The agent is held. Your next message lets it go on.\n  a long reason", `END\x1b[2J`)
	s.report(working)
	require.NotContains(t, s.screen(), "END")
}

func TestBackspaceRemovesAPastedTextWhole(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("see ")
	s.event(tea.PasteMsg{Content: strings.Repeat("x", maxPaste+1)})
	s.shows("> see [pasted text 1: 20,001 bytes]")
	s.event(tea.KeyPressMsg(tea.Key{Code: tea.KeyBackspace}))
	s.shows("> see\n")
	s.keys("this", "enter")
	require.Equal(t, []string{"send talk steer=false: see this"}, s.asked)
}

func TestAnswerIsNoApproval(t *testing.T) {
	s := newStage(t, true)
	answer := result("1", "red")
	answer.Decider = &agent.Decider{Actor: agent.Actor{By: "kim"}}
	s.says(reply("", llm.ToolCall{ID: "1", Name: agent.AskUser, Arguments: "{}"}), answer)
	s.keys("ctrl+o")
	s.shows("answered by kim")
}

// A person who comes back sees the messages that the agent has received but not taken.
func TestMessageOfAnEarlierChatIsShownUntilItIsTaken(t *testing.T) {
	s := newStage(t, true)
	s.says(user("one"))
	s.report(working)
	s.m.outbox = []*outgoing{{id: "m-mine", text: "mine", received: true}}
	s.m.refreshed(client.Snapshot{Queue: []agent.QueuedMessage{{ID: "m-one", Text: "one"}, {ID: "m-two", Text: "two"}, {ID: "m-mine", Text: "mine"}, {ID: agent.KindLate + "-1", Text: "result", Late: &agent.LateResult{}}}}, nil, nil)
	s.shows("> one\n\n> two (the agent reads it next)\n\n> mine (the agent reads it next)\ntalk")
	s.says(user("two"))
	require.NotContains(t, s.screen(), "two (the agent")
}
