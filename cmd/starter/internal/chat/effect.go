package chat

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

const (
	// refreshPause is the pause between two refreshes, because each reads histories.
	refreshPause = time.Second
	// restingPause is the pause while the agent rests and sub-agents are running.
	restingPause = 5 * time.Second
	// readyPause is the time for which a call is shown before a key decides on it. Without it, a person who types a message when the
	// call appears would decide on the call.
	readyPause = 700 * time.Millisecond
	// reachTime is how long a worker may take to answer before the person is told.
	reachTime = 4 * time.Second
	// batch is the largest number of reports that the screen takes at once.
	batch = 500
)

// report is one value of [client.Client.Watch]: the progress of an agent, or the error with which the watch has ended.
type report struct {
	p   client.Progress
	err error
}

// watch sends the progress of an agent to the channel that it returns, from the message with the index `from` on. It closes the channel
// when the watch has ended or ctx ends.
func watch(ctx context.Context, agents Agents, id string, from int) <-chan report {
	reports := make(chan report, batch)
	go func() {
		defer close(reports)
		for p, err := range agents.Watch(ctx, id, from) {
			select {
			case reports <- report{p, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return reports
}

func (m *model) follow() tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	m.stop = stop
	reports, attached := watch(ctx, m.o.Agents, m.id, 0), m.attached
	var next func() tea.Msg
	next = func() tea.Msg {
		msg := progressMsg{attached: attached, more: next}
		for r, open := <-reports; ; r, open = <-reports {
			if !open || r.err != nil {
				msg.more, msg.err = nil, r.err
				break
			}
			msg.reports = append(msg.reports, r.p)
			if len(reports) == 0 || len(msg.reports) == batch {
				break
			}
		}
		msg.at = time.Now()
		return msg
	}
	return next
}

// send sends the first message of the outbox that the agent does not have yet. It sends one at a time, so that the order stays. If the
// agent does not exist, its first message starts it. If the reply to this start is lost, the chat starts the agent again with the same
// message ID. It then finds the agent, which takes the message once.
func (m *model) send() tea.Cmd {
	next := slices.IndexFunc(m.outbox, func(o *outgoing) bool { return !o.received })
	if next < 0 || m.sending || m.interrupting {
		return nil
	}
	out := m.outbox[next]
	if out.reading { // its files
		return nil
	}
	m.sending, m.own = true, true
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	if !m.started {
		o := *m.o.Start
		o.ID, o.Message, o.MessageID, o.PartialText = id, out.text, out.id, true
		return func() tea.Msg {
			started, err := agents.Start(ctx, o)
			return startedMsg{out, started, err}
		}
	}
	message := *out // the model may change while the command runs
	return func() tea.Msg {
		sent, err := deliver(ctx, agents, id, message)
		return sentMsg{attached, out, sent, err}
	}
}

// deliver sends a message. If no worker or no server answers, the error says so, and deliver must be called again with the same message.
func deliver(ctx context.Context, agents Agents, id string, out outgoing) (client.Sent, error) {
	if err := reach(ctx, agents, id); err != nil {
		return client.Sent{}, err
	}
	if w := out.answers; w != nil {
		return client.Sent{}, agents.Decide(ctx, *w, agent.Decision{Result: &agent.GivenResult{Content: out.text}, Message: out.id})
	}
	return agents.Send(ctx, id, client.Message{ID: out.id, Text: out.text, Steer: out.steer, Overrides: agent.Overrides{Model: out.model}, PartialText: true})
}

// reach returns an error if no worker answers for the agent within [reachTime]. Without it, a person would wait for a request to an
// agent that rests, and would not know why: the watch of such an agent does not tell that a worker is missing.
func reach(ctx context.Context, agents Agents, id string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	_, err := agents.Await(ctx, id, nil)
	return err
}

func unanswered(err error) bool {
	return errors.Is(err, client.ErrNoWorker) || errors.Is(err, client.ErrNoServer)
}

// refresh reads what the reports of the agent do not have: its usage, its sub-agents, and the calls that wait for a person. The
// reads need no worker.
func (m *model) refresh() tea.Cmd {
	if !m.stale || m.refreshing || !m.started {
		return nil
	}
	m.stale, m.refreshing = false, true
	ctx, agents, id, attached, waits := m.ctx, m.o.Agents, m.id, m.attached, client.CallWaits(m.waitsFor)
	return func() tea.Msg {
		msg := refreshedMsg{attached: attached}
		if msg.snap, msg.err = agents.ShowRecorded(ctx, id); msg.err != nil {
			return msg
		}
		if msg.snap.ChildCount > 0 {
			if msg.tree, msg.err = agents.Tree(ctx, id); msg.err != nil {
				return msg
			}
		}
		if waits || msg.snap.ChildCount > 0 || slices.ContainsFunc(msg.snap.Pending, func(c agent.Call) bool { return c.Waits() }) {
			msg.waits, msg.err = agents.Pending(ctx, id)
		}
		return msg
	}
}

// poll asks for the next refresh if sub-agents are running, because they change without a report of this agent.
func (m *model) poll() tea.Cmd {
	switch {
	case !m.subAgentsRun() || m.polling:
		return nil
	case m.rests():
		m.polling = true
		return m.later(restingPause, pollMsg{})
	}
	m.stale = true
	return nil
}

func (v verdict) deliver(ctx context.Context, agents Agents) error {
	if err := reach(ctx, agents, v.on.AgentID); err != nil {
		return err
	}
	return agents.Decide(ctx, v.on, v.decision)
}

func (m *model) interrupt() tea.Cmd {
	m.interrupting = true
	ctx, agents, id := m.ctx, m.o.Agents, m.id
	return func() tea.Msg {
		return interruptedMsg{interrupt(ctx, agents, id)}
	}
}

const interruptedText = "Interrupted. The next message goes on from here."

func interrupt(ctx context.Context, agents Agents, id string) error {
	if err := reach(ctx, agents, id); err != nil {
		return err
	}
	return agents.Interrupt(ctx, id)
}

// fork keeps the first `at` messages; 0 means all.
func (m *model) fork(at int) tea.Cmd {
	ctx, agents, id := m.ctx, m.o.Agents, m.id
	return func() tea.Msg {
		started, err := agents.Fork(ctx, id, client.ForkOptions{At: at, Mode: agent.Chat})
		return forkedMsg{started, err}
	}
}

// askText asks for the text of replies while it grows, if the agent works on a message that did not ask for it.
func (m *model) askText() tea.Cmd {
	if m.own || m.status != client.Running || m.now.Sub(m.asked) < textTime*9/10 {
		return nil
	}
	m.asked = m.now
	ctx, agents, id := m.ctx, m.o.Agents, m.id
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_ = agents.RequestPartialText(ctx, id, textTime) // without the text, the chat shows the complete messages
		return nil
	}
}

// showing is the time during which the chat shows a call that waits for an approval. If the call disappears and comes back, a new showing
// begins, with a new timer.
type showing struct {
	call  agent.Key
	ready bool
}

// makeReady lets the keys decide on the active call after [readyPause]. It runs after each event, and begins a timer for each call when the
// chat begins to show the call.
func (m *model) makeReady() tea.Cmd {
	w := m.approval()
	if w != nil && m.showing != nil && m.showing.call == w.Call.Key {
		return nil
	}
	if m.revealed {
		m.up, m.revealed = 0, false
	}
	if w == nil {
		m.showing = nil
		return nil
	}
	if m.up == 0 && !m.headShown(*w) {
		m.reveal(*w)
		m.revealed = true
	}
	return m.showAgain(*w)
}

// showAgain lets the keys decide on the active call only after another [readyPause], because the chat has shown other lines of it.
func (m *model) showAgain(w client.Waits) tea.Cmd {
	m.showing = &showing{call: w.Call.Key}
	return m.later(readyPause, readyMsg{m.showing})
}

// ready reports whether the keys decide on the given call.
func (m *model) ready(w client.Waits) bool {
	return m.showing != nil && m.showing.call == w.Call.Key && m.showing.ready
}

func (m *model) tick() tea.Cmd {
	if m.ticking || !m.works() {
		return nil
	}
	m.ticking = true
	return m.after(time.Second, func(at time.Time) tea.Msg { return tickMsg(at) })
}

func (m *model) later(pause time.Duration, msg tea.Msg) tea.Cmd {
	return m.after(pause, func(time.Time) tea.Msg { return msg })
}
