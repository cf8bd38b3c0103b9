package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// latePause is the time after which the chat says that no worker has answered.
const latePause = 2 * time.Second

// decision is a verdict on its way to the agent. The chat sends it until a worker answers, or until the person takes it back.
type decision struct {
	verdict
	// stage is how far the verdict is. It can be taken back only while the chat looks for a worker.
	stage atomic.Int32
	// late says that no worker has answered for latePause. unsure says that the agent may have the verdict, although no answer has come.
	late, unsure bool
}

const (
	looksForWorker int32 = iota
	isSent
	isTakenBack
)

var errTakenBack = errors.New("the decision was taken back")

type (
	decidedMsg struct {
		*decision
		err error
	}
	// lateMsg says that latePause is over, and decideAgainMsg that the pause before the next attempt is.
	lateMsg        struct{ *decision }
	decideAgainMsg struct{ *decision }
)

func (d *decision) deliver(ctx context.Context, agents Agents) error {
	if err := reach(ctx, agents, d.on.AgentID); err != nil {
		return err
	}
	if !d.stage.CompareAndSwap(looksForWorker, isSent) {
		return errTakenBack
	}
	return agents.Decide(ctx, d.on, d.decision)
}

// decide sends a verdict. If no worker answers, it is kept and sent again.
func (m *model) decide(v verdict) tea.Cmd {
	if m.deciding(v.on) != nil {
		m.note("A decision on " + printable.Name(v.on.Call.Name) + " is on its way already; Esc takes it back.")
		return nil
	}
	d := &decision{verdict: v}
	m.decisions = append(m.decisions, d)
	return tea.Batch(m.deliverDecision(d), m.later(latePause, lateMsg{d}))
}

func (m *model) deliverDecision(d *decision) tea.Cmd {
	ctx, agents := m.ctx, m.o.Agents
	return func() tea.Msg { return decidedMsg{d, d.deliver(ctx, agents)} }
}

// deciding returns the decision on a call that is on its way; nil if there is none.
func (c *conversation) deciding(w client.Waits) *decision {
	at := slices.IndexFunc(c.decisions, func(d *decision) bool { return d.on.AgentID == w.AgentID && d.on.Call.Key == w.Call.Key })
	if at < 0 {
		return nil
	}
	return c.decisions[at]
}

func (m *model) settled(msg decidedMsg) tea.Cmd {
	d := msg.decision
	at := slices.Index(m.decisions, d)
	if at < 0 {
		return nil // taken back
	}
	m.stale = true
	m.noWorker, m.noServer = errors.Is(msg.err, client.ErrNoWorker), errors.Is(msg.err, client.ErrNoServer)
	if unanswered(msg.err) {
		d.late, d.unsure = true, d.unsure || d.stage.Load() == isSent
		d.stage.Store(looksForWorker)
		return m.later(refreshPause, decideAgainMsg{d})
	}
	m.decisions = slices.Delete(m.decisions, at, at+1)
	switch {
	case msg.err == nil:
		m.decided(d.on.Call.Key)
		m.tellDone(d.verdict)
	case d.unsure && errors.Is(msg.err, client.ErrRefused):
		m.trouble("The agent takes no second decision on "+printable.Name(d.on.Call.Name)+". The first one may be yours, sent when no answer came:", msg.err)
	default:
		m.report(msg.err)
	}
	return nil
}

// tellDone adds a line about a decision that the agent has.
func (m *model) tellDone(v verdict) {
	if v.decision.Approve {
		m.note(v.done())
		return
	}
	m.items = append(m.items, &item{kind: deniedItem, index: -1, name: v.on.Call.Name, arguments: v.on.Call.Arguments, result: v.decision.Reason, done: true})
}

// takeBack takes back the decisions that have not been sent to a worker. It returns false if no decision is on its way.
func (m *model) takeBack() bool {
	if len(m.decisions) == 0 {
		return false
	}
	m.decisions = slices.DeleteFunc(m.decisions, func(d *decision) bool {
		name := printable.Name(d.on.Call.Name)
		switch {
		case !d.stage.CompareAndSwap(looksForWorker, isTakenBack):
			m.note("The decision on " + name + " has been sent, so it cannot be taken back.")
			return false
		case d.unsure:
			m.note("The decision on " + name + " was taken back, but an earlier attempt may have reached the agent.")
		default:
			m.note("The decision on " + name + " was taken back. The call waits on.")
		}
		return true
	})
	return true
}

// doing says what is being done, such as "Approving pay".
func (v verdict) doing() string {
	if v.decision.Approve {
		return "Approving " + printable.Line(v.on.Call.Name, 100)
	}
	return "Denying " + printable.Line(v.on.Call.Name, 100)
}

// title stands above the arguments of the call in place of the question.
func (d *decision) title() string {
	if d.late {
		return d.doing() + ": no worker has answered yet. The decision is kept and sent again. Esc takes it back."
	}
	return d.doing() + " …"
}

func (d *decision) hint(m *model) string {
	if d.late {
		return m.fitted(d.doing()+": no worker has answered yet", "Esc takes it back")
	}
	return m.fitted(d.doing()+" …", "Esc takes it back")
}

// command returns the command that does the same.
func (v verdict) command() shellword.Command {
	verb, flags := "approve", ""
	switch d := v.decision; {
	case !d.Approve:
		verb = "deny"
		if d.Reason != "" {
			flags = "--reason " + shellword.Quote(d.Reason)
		}
	case d.Remember == agent.RememberTool:
		flags = "--for-agent"
	case d.Remember == agent.RememberCall:
		flags = "--for-agent-call"
	case d.Arguments != "":
		flags = "--arguments " + shellword.Quote(d.Arguments)
	}
	c := shellword.Starter(verb, v.on.AgentID, v.on.Handle())
	if flags != "" {
		return c.With(flags)
	}
	return c
}

// maxRetyped is the length of a message up to which a command repeats it.
const maxRetyped = 2000

// undelivered returns a line for each decision, answer and message for which the agent has not confirmed that it has it, with the command that
// delivers it.
func (m *model) undelivered() []string {
	var lines []string
	for _, d := range m.decisions {
		lines = append(lines, fmt.Sprintf("Not delivered: %s. Deliver it with `%s`.", lowerFirst(d.doing()), d.command()))
	}
	for _, o := range m.outbox {
		if o.received || !m.started {
			continue
		}
		what, command := "a message", shellword.Starter("send", m.id, o.text).With("--message-id "+shellword.Quote(o.id))
		if o.answers != nil {
			what, command = "an answer", shellword.Starter("answer", o.answers.AgentID, o.text).With("--call "+o.answers.Handle())
		}
		if len(o.text) > maxRetyped || o.reading {
			command = shellword.Starter("chat", m.id)
		}
		lines = append(lines, fmt.Sprintf("Not delivered: %s. Deliver it with `%s`.", what, command))
	}
	return lines
}

func lowerFirst(text string) string { return string(text[0]|0x20) + text[1:] }
