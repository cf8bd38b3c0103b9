package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/internal/printable"
)

// model is the state of the screen. It implements [tea.Model]. Update changes it by one event, and returns the command to run outside.
// View draws it. Neither does any I/O.
type model struct {
	ctx context.Context
	o   Options
	// id is the ID of the agent. started is false until the agent exists.
	id      string
	started bool
	// attached counts how often the chat has changed to another agent. Events of an earlier agent have a lower number.
	attached int
	stop     context.CancelFunc
	choice   modelChoice
	conversation

	md screen.Markdown
	// growing holds the lines of the reply that the model is writing. offers holds the calls that wait for an approval, and the questions.
	growing       memo
	offers        map[agent.Key]*offer
	input         textarea.Model
	width, height int
	// up is the number of lines by which the user has scrolled up. At 0, the screen shows the newest lines.
	up int
	// expanded shows calls, sub-agents and reasoning in full.
	expanded bool
	// selected is the call that Enter shows in full or folds; nil if there is none.
	selected *item
	// leaving says that the last key was Ctrl-C, and stopping that it was Esc while a call waits.
	leaving, stopping bool
	// denying is the call for whose denial the person types the reason; nil if there is none.
	denying *client.Waits
	// showing is the call on which the keys y, n and a decide, or will decide after [readyPause]; nil if there is none.
	showing *showing
	// early is the showing during which the person has pressed y, n or a before the keys apply; nil after another key.
	early *showing
	// revealed says that the chat, and not the person, has scrolled up to the first line of that call.
	revealed bool
	// partly is the call on which the last key was to decide before all of its lines had been on the screen; empty if there is none.
	partly agent.Key
	// pressed is the key y or a that is about to decide on a call; nil if there is none.
	pressed *press
	// arrival is the note to add after a fork, when the messages of the new agent are on the screen.
	arrival string
	// recalled is the number of the earlier text that is in the input, counted from the newest; 0 means none. entered are the texts that the
	// person has sent from this chat.
	recalled int
	menu     menu
	// finding is the search of the person in the conversation; nil if there is none.
	finding *finding
	// picker is the list of agents among which the person chooses; nil if it is not on the screen.
	picker  *picker
	entered []string
	// pastes are the long texts that were pasted: see [model.pasted].
	pastes []string
	// failed is a message that was not delivered. If the person sends the same text again, it has the same ID, so that the agent
	// takes it only once.
	failed outgoing
	// doubted is the text about which the chat has asked the person last, instead of sending it.
	doubted doubt
	// sending, refreshing, polling and ticking say that such a command is running. stale says that a refresh must follow.
	sending, refreshing, polling, ticking, stale bool
	// interrupting says that an interrupt is on its way. A message waits for it, because the interrupt would hold the turn of the message.
	interrupting bool
	// own says that a message of this chat belongs to the running turn. Such a message asks for partial text itself. asked is the time at
	// which the chat last asked for the partial text of other turns.
	own   bool
	asked time.Time
	// after returns a command that sends an event after a pause. It is [tea.Tick], except in tests.
	after   func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
	failure error
	// tmux says that the terminal is tmux.
	tmux bool
}

const textTime = 10 * time.Minute

func newModel(ctx context.Context, o Options) *model {
	m := &model{ctx: ctx, o: o, width: 80, height: 24, input: newInput(), stop: func() {}, after: tea.Tick}
	m.attach(o.ID, o.Start == nil)
	return m
}

func newInput() textarea.Model {
	in := textarea.New()
	in.Prompt, in.ShowLineNumbers, in.DynamicHeight = "> ", false, true
	in.MaxHeight, in.MaxContentHeight = 8, 10_000
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	in.KeyMap.Paste.SetEnabled(false) // it would run a program to read the clipboard; terminals paste by themselves
	style := textarea.StyleState{Prompt: bold, Placeholder: faint, EndOfBuffer: lipgloss.NewStyle()}
	in.SetStyles(textarea.Styles{Focused: style, Blurred: style})
	in.SetVirtualCursor(false)
	in.Placeholder = "Type a message"
	in.Focus()
	return in
}

func (m *model) attach(id string, started bool) {
	m.stop()
	m.id, m.started, m.stop = id, started, func() {}
	m.attached++
	m.conversation = conversation{fresh: !started, calls: map[string]*item{}, now: m.now, decisions: m.decisions}
	m.growing, m.offers = memo{}, map[agent.Key]*offer{}
	m.up, m.selected, m.denying, m.pressed, m.showing, m.arrival = 0, nil, nil, nil, nil, ""
	m.revealed, m.early, m.partly, m.finding, m.picker = false, nil, "", nil, nil
	m.sending, m.refreshing, m.stale, m.own, m.asked = false, false, false, false, time.Time{}
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd {
	if !m.started {
		return nil
	}
	return m.follow()
}

// The events of the chat, apart from those of the terminal. `attached` says which agent an event is of: see [model].
type (
	progressMsg struct {
		attached int
		reports  []client.Progress
		err      error
		more     func() tea.Msg
		at       time.Time
	}
	startedMsg struct {
		out     *outgoing
		started client.Started
		err     error
	}
	sentMsg struct {
		attached int
		out      *outgoing
		sent     client.Sent
		err      error
	}
	refreshedMsg struct {
		attached int
		snap     client.Snapshot
		tree     []client.Entry
		waits    []client.Waits
		err      error
	}
	// refreshAgainMsg says that the pause after a refresh is over.
	refreshAgainMsg struct{ attached int }
	pollMsg         struct{}
	readyMsg        struct{ *showing }
	interruptedMsg  struct{ err error }
	forkedMsg       struct {
		started client.Started
		err     error
	}
	startAgainMsg struct{}
	// keptMsg says whether a text is in the history.
	keptMsg struct{ err error }
	tickMsg time.Time
)

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	up, before, held := m.up, m.scrolledLines(), m.hold()
	cmd := m.update(msg)
	_, key := msg.(tea.KeyPressMsg)
	_, size := msg.(tea.WindowSizeMsg)
	switch {
	case key:
	case size:
		m.relaid(held, before)
	case before > 0 && m.up == up:
		m.stay(held, before)
	}
	all := tea.Batch(cmd, m.send(), m.refresh(), m.makeReady(), m.tick(), m.list())
	m.look()
	return m, all
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
		m.input.MaxHeight = max(1, min(8, m.height/3))
		m.input.SetWidth(m.width)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.leaving, m.recalled = false, 0
		if m.finding != nil {
			m.finding.text += oneLine(msg.Content)
			m.match(m.finding.start, true)
			return nil
		}
		m.unpress()
		msg.Content = m.pasted(msg.Content)
		return m.write(msg)
	case progressMsg:
		return m.progress(msg)
	case startedMsg:
		return m.begun(msg)
	case sentMsg:
		m.delivered(msg)
	case attachedMsg:
		m.filesRead(msg)
	case editMsg:
		return openEditor(m.ctx, msg.path)
	case editedMsg:
		m.edited(msg)
	case listedMsg:
		m.listed(msg)
	case refreshedMsg:
		if msg.attached != m.attached {
			return nil
		}
		if msg.err == nil {
			m.refreshed(msg.snap, msg.tree, msg.waits)
		} else {
			m.stale = true // read again: a call could wait unseen, because a waiting agent reports nothing
		}
		return m.later(refreshPause, refreshAgainMsg{m.attached})
	case refreshAgainMsg:
		if msg.attached == m.attached {
			m.refreshing = false
			return m.poll()
		}
	case pollMsg:
		m.polling, m.stale = false, true
	case decidedMsg:
		return m.settled(msg)
	case lateMsg:
		msg.late = true
	case decideAgainMsg:
		if slices.Contains(m.decisions, msg.decision) {
			return m.deliverDecision(msg.decision)
		}
	case readyMsg:
		msg.ready = true
	case pressedMsg:
		return m.decidePressed(msg.press)
	case interruptedMsg:
		m.interrupting = false
		if msg.err == nil {
			m.note(interruptedText)
		}
		m.report(msg.err)
	case forkedMsg:
		return m.forked(msg)
	case chatsMsg:
		return m.openPicker(msg)
	case statesMsg:
		if msg.of == m.picker && m.picker != nil {
			m.picker.states = msg.states
		}
	case askedMsg:
		m.answered(msg)
	case toldMsg:
		switch {
		case msg.attached != m.attached:
		case msg.err != nil:
			m.report(msg.err)
		default:
			m.note(msg.text)
		}
	case resumedMsg:
		return tea.ClearScreen
	case startAgainMsg:
		m.sending = false
	case tickMsg:
		m.ticking, m.now = false, time.Time(msg)
	case keptMsg:
		if msg.err != nil {
			m.trouble("What you type is not kept for later chats:", msg.err)
			m.o.History = nil
		}
	}
	return nil
}

func (m *model) report(err error) {
	switch {
	case err == nil || m.ctx.Err() != nil:
	case unanswered(err):
		m.note("Nothing was changed: " + m.unansweredText(err) + ".")
	default:
		m.trouble("Nothing was changed:", err)
	}
}

func (m *model) unansweredText(err error) string {
	if errors.Is(err, client.ErrNoServer) {
		return "Temporal does not answer"
	}
	return m.o.NoWorker
}

func (m *model) progress(msg progressMsg) tea.Cmd {
	if msg.attached != m.attached {
		return nil
	}
	m.now = msg.at
	worked := m.works()
	for _, p := range msg.reports {
		if m.see(p) {
			m.stale = true
		}
	}
	m.markInterrupts()
	if !slices.Contains(m.items, m.selected) {
		m.selected = nil // a reset has removed the call
	}
	if m.arrival != "" && m.status != "" {
		m.note(m.arrival)
		m.arrival = ""
	}
	m.own = m.own && (!worked || m.works())
	switch {
	case m.ctx.Err() != nil:
		return nil
	case msg.err != nil:
		m.failure = msg.err
		return tea.Quit
	case msg.more == nil:
		if m.status.Ended() {
			m.note(m.endText())
		}
		return nil
	}
	return tea.Batch(msg.more, m.askText())
}

func (m *model) endText() string {
	status := string(m.status)
	if m.snap.Failure != "" {
		status += ": " + printable.Line(m.snap.Failure, 400)
	}
	return fmt.Sprintf("The agent has ended (%s). /fork goes on from here in a new agent. Or: %s.", status, m.o.GoOn(m.id, m.status))
}

func (m *model) begun(msg startedMsg) tea.Cmd {
	if m.noServer = unanswered(msg.err); m.noServer {
		return m.later(refreshPause, startAgainMsg{}) // with the same message ID
	}
	m.sending = false
	if msg.err != nil {
		m.giveBack(msg.out, msg.err)
		return nil
	}
	m.started = true
	if msg.started.MessageID != "" {
		msg.out.id, msg.out.received = msg.started.MessageID, true
	}
	return m.follow()
}

func (m *model) delivered(msg sentMsg) {
	if msg.attached != m.attached {
		return
	}
	m.sending = false
	m.noWorker, m.noServer = errors.Is(msg.err, client.ErrNoWorker), errors.Is(msg.err, client.ErrNoServer)
	switch {
	case unanswered(msg.err): // it is sent again
		return
	case msg.err != nil:
		m.giveBack(msg.out, msg.err)
	case msg.out.answers != nil:
		m.decided(msg.out.answers.Call.Key)
		m.sent(msg.out.id)
	case msg.sent.Answered != "":
		m.sent(msg.out.id)
	default:
		msg.out.received = true
	}
	m.stale = true
}

// giveBack puts a message that was not delivered back into the input.
func (m *model) giveBack(out *outgoing, err error) {
	m.sent(out.id)
	m.failed = *out
	if m.input.Value() == "" {
		m.input.SetValue(m.pasted(out.typed))
	}
	if _, closed := errors.AsType[*client.ClosedError](err); closed {
		m.note("The message was not sent. " + m.endText())
		return
	}
	m.trouble("The message was not sent:", err)
}

func (m *model) forked(msg forkedMsg) tea.Cmd {
	if msg.err != nil {
		m.report(msg.err)
		return nil
	}
	from := m.id
	m.attach(msg.started.ID, true)
	m.arrival = forkText(m.id, from)
	return m.follow()
}

func forkText(id, from string) string {
	return fmt.Sprintf("This is %s, a fork of %s.", printable.Name(id), printable.Name(from))
}

// say puts a text of the person into the outbox. The text is an answer if the agent asks a question. The files with the given paths become a
// part of the message.
func (m *model) say(text string, files []string) tea.Cmd {
	out := &outgoing{id: uuid.NewString(), text: text, typed: text, steer: m.status != client.Waiting || client.CallWaits(m.waitsFor)}
	if m.failed.typed == text {
		out.id = m.failed.id
	}
	m.failed = outgoing{}
	if w := m.question(); w != nil {
		question := *w
		q, _ := question.Call.Question()
		out.answers, out.text = &question, q.Answer(text)
	} else if m.started {
		var note string
		if out.model, note = m.choice.of(m.begins); note != "" {
			m.note(note)
		}
		out.steer = out.steer && out.model == ""
	}
	m.outbox = append(m.outbox, out)
	m.up = 0
	return m.bring(out, files)
}

func (m *model) result() Result {
	return Result{ID: m.id, Started: m.started, Status: m.status, Undelivered: m.undelivered()}
}
