package chat

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
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
		msg.item.failed, msg.item.result = true, msg.err.Error()
	}
	if unanswered(msg.err) {
		msg.item.result = m.unansweredText(msg.err)
	}
}

func (it *item) drawAside(md *screen.Markdown, width int) []string {
	lines := append([]string{""}, marked("~ ", "aside: "+it.text, width)...)
	switch {
	case !it.done:
		return append(lines, faint.Render(cut("  …", width)))
	case it.failed:
		lines = append(lines, styled(indented("  ", "The question was not answered.", width), faint)...)
		return append(lines, indented("    ", it.result, width)...)
	}
	lines = append(lines, foreign(md, "    ", it.result, width)...)
	return append(lines, styled(indented("  ", "The question and the answer are not part of the conversation.", width), faint)...)
}
