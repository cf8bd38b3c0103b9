package chat

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

type askedMsg struct {
	attached int
	item     *item
	answer   string
	err      error
}

func (m *model) ask(question string) tea.Cmd {
	it := &item{kind: asideItem, index: -1, text: question}
	m.items = append(m.items, it)
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	return func() tea.Msg {
		answer, err := aside(ctx, agents, id, question)
		return askedMsg{attached, it, answer, err}
	}
}

func aside(ctx context.Context, agents Agents, id, question string) (string, error) {
	if err := reach(ctx, agents, id); err != nil {
		return "", err
	}
	return agents.Aside(ctx, id, question)
}

func (m *model) answered(msg askedMsg) {
	if msg.attached != m.attached {
		return
	}
	msg.item.done, msg.item.result = true, msg.answer
	m.stale = true // the answer has cost something
	if msg.err != nil {
		msg.item.failed = "The question was not answered."
		if unanswered(msg.err) {
			msg.item.result = m.unansweredText(msg.err)
		} else {
			msg.item.result = msg.err.Error()
		}
	}
}

func (it *item) drawAside(md *markdown, width int) []string {
	lines := append([]string{""}, marked("~ ", "aside: "+it.text, width)...)
	switch {
	case !it.done:
		return append(lines, faint.Render(cut("  …", width)))
	case it.failed != "":
		lines = append(lines, styled(indented("  ", it.failed, width), faint)...)
		return append(lines, indented("    ", it.result, width)...)
	}
	lines = append(lines, within("    ", width, func(room int) []string { return md.render(it.result, room) })...)
	return append(lines, styled(indented("  ", "The question and the answer are not part of the conversation.", width), faint)...)
}
