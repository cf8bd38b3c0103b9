package chat

import (
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func (m *model) tail() []string {
	var lines []string
	if p := m.partial; p != nil && p.Text != "" {
		text := p.Text
		if p.Said > len(p.Text) {
			text = "…" + text
		}
		lines = append(append(lines, ""), m.growing.lines(text, m.width, func() []string { return foreign(&m.md, "  ", text, m.width) })...)
	}
	lines = append(lines, m.subAgents()...)
	for _, in := range m.received() {
		lines = append(lines, m.pending(in.Text, true)...)
	}
	for _, o := range m.outbox {
		lines = append(lines, m.pending(o.text, o.received)...)
	}
	if m.wasInterrupted() {
		lines = append(lines, "", faint.Render(cut(interruptedText, m.width)))
	}
	if m.status == client.Held && m.waitsFor != client.WaitsForMessage && m.snap.Failure != "" {
		lines = append(lines, "", faint.Render(cut("The agent is held. Your next message lets it go on.", m.width)))
		lines = append(lines, styled(indented("  ", m.snap.Failure, m.width), faint)...)
	}
	active := m.active()
	for i := range m.waits {
		lines = append(lines, m.wait(&m.waits[i], &m.waits[i] == active)...)
	}
	return lines
}

// wasInterrupted reports whether a person has interrupted the turn, and no note of this chat says so, because it was in another chat or by
// another command.
func (m *model) wasInterrupted() bool {
	if m.status != client.Held || m.waitsFor != client.WaitsForMessage {
		return false
	}
	for _, it := range slices.Backward(m.items) {
		switch {
		case it.kind == noteItem && it.text == interruptedText:
			return false
		case it.index >= 0:
			return true
		}
	}
	return true
}

func (m *model) pending(text string, received bool) []string {
	state := "(being sent)"
	switch {
	case received && m.delays():
		state = "(the agent reads it after its calls; one of them waits for your y, n or a)"
	case received:
		state = "(the agent reads it next)"
	}
	return append([]string{""}, styled(marked("> ", foldedMessage(text)+" "+state, m.width), faint)...)
}

// delays reports whether a message to the agent waits for an approval: it enters the turn after the results of the open calls, and one of
// these needs the approval. A call of a sub-agent counts if the agent waits for the sub-agent.
func (m *model) delays() bool {
	w := m.approval()
	return w != nil && (w.AgentID == m.id || m.status == client.Running && m.waitsFor == client.WaitsForSubAgents)
}

// wait returns the lines of a call that waits for somebody outside. `active` says that the keys y, n and a, or the next message, are for
// this call.
func (m *model) wait(w *client.Waits, active bool) []string {
	who := ""
	if w.AgentID != m.id {
		who = " of sub-agent " + printable.Name(w.AgentID)
	}
	name, mark := printable.Line(w.Call.Name, 100), "  "
	if active {
		mark = "? "
	}
	lines := []string{""}
	switch w.Call.WaitsFor() {
	case client.WaitsForApproval:
		_, title := m.title(w)
		if d := m.deciding(*w); d != nil {
			title = d.title()
		}
		heading := &m.offerOf(w.Call).heading
		lines = append(lines, heading.lines(mark+title, m.width, func() []string { return styled(indented(mark, title, m.width), urgent) })...)
		return append(lines, m.proposal(w.Call)...)
	case client.WaitsForAnswer:
		q, _ := w.Call.Question()
		title := "Question" + who + ":"
		if w.Call.Name == agent.AskUser {
			drawn := &m.offerOf(w.Call).heading
			lines = append(lines, drawn.lines(mark+title+q.Question, m.width, func() []string {
				return questionLines(&m.md, urgent.Render(mark), title, q.Question, m.width, urgent)
			})...)
		} else { // the text of a tool is no Markdown
			lines = append(lines, styled(indented(mark, title+" "+q.Question, m.width), urgent)...)
		}
		for i, choice := range q.Choices {
			lines = append(lines, indented(fmt.Sprintf("    %d  ", i+1), choice, m.width)...)
		}
		return lines
	}
	return append(lines, indented(mark, fmt.Sprintf("%s%s waits for its result: %s", name, who, shellword.Starter("complete", w.AgentID).With("--call "+w.Handle()).Then("RESULT")), m.width)...)
}

// subAgents returns the lines of the tree of sub-agents. Unless the calls are expanded, a sub-agent that has ended is shown only if one below
// it is still running. The title counts all that have ended.
func (m *model) subAgents() []string {
	if len(m.tree) < 2 {
		return nil
	}
	below := map[string][]client.Entry{}
	ended := 0
	for _, e := range m.tree[1:] {
		if e.Status.Ended() {
			ended++
		}
		below[e.Parent] = append(below[e.Parent], e)
	}
	var lines []string
	var walk func(id, indent string)
	walk = func(id, indent string) {
		shown := slices.DeleteFunc(slices.Clone(below[id]), func(e client.Entry) bool { return !m.expanded && !runs(e, below) })
		for i, e := range shown {
			branch, deeper := "├ ", "│ "
			if i == len(shown)-1 {
				branch, deeper = "└ ", "  "
			}
			line := indent + branch + accent.Render(printable.Name(e.Agent)) + " " + m.doing(e)
			if e.Task != "" {
				line += ": " + printable.Line(e.Task, 200)
			}
			lines = append(lines, cut(line, m.width))
			walk(e.ID, indent+deeper)
		}
	}
	walk(m.tree[0].ID, "  ")
	if len(lines) == 0 && m.rests() {
		return nil // nothing runs, and the person has not asked for the ended ones
	}
	title := "sub-agents"
	if ended > 0 && !m.expanded {
		title += fmt.Sprintf(" (%d ended)", ended)
	}
	return append([]string{"", faint.Render(title)}, lines...)
}

func runs(e client.Entry, below map[string][]client.Entry) bool {
	return !e.Status.Ended() || slices.ContainsFunc(below[e.ID], func(child client.Entry) bool { return runs(child, below) })
}

func (m *model) doing(e client.Entry) string {
	for _, w := range m.waits {
		if w.AgentID == e.ID {
			return waitTexts[w.Call.WaitsFor()]
		}
	}
	if e.Status == client.Running {
		return "works"
	}
	return string(e.Status)
}

var waitTexts = map[client.WaitsFor]string{
	client.WaitsForApproval:  "waits for an approval",
	client.WaitsForAnswer:    "waits for an answer",
	client.WaitsForResult:    "waits for a result from outside",
	client.WaitsForSubAgents: "waits for sub-agents",
	client.WaitsForMessage:   "waits for you",
}
