package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// View implements [tea.Model]. The conversation is at the top. Below it are the status, the input and a line about the keys.
func (m *model) View() tea.View {
	body := m.body(m.room() + m.up)
	body = body[:max(0, len(body)-m.up)]
	body = m.marks(body[max(0, len(body)-m.room()):])
	lines := make([]string, max(0, m.room()-len(body)), m.height)
	lines = append(lines, body...)
	v := tea.NewView("")
	v.AltScreen = true
	rest := append([]string{faint.Render(m.statusLine())}, strings.Split(m.input.View(), "\n")...)
	hint, column := m.hint(), 0
	if m.finding != nil {
		hint, column = m.findHint()
	}
	rest = append(rest, faint.Render(cut(hint, m.width)))
	lines = append(lines, m.menuView()...)
	at := len(lines) + 1
	lines = append(lines, rest...)
	v.SetContent(strings.Join(lines, "\n"))
	if c := m.input.Cursor(); c != nil && m.finding != nil {
		c.X, c.Y = column, len(lines)-1
		v.Cursor = c
	} else if c != nil {
		c.Y += at
		v.Cursor = c
	}
	return v
}

// maxLeft is the largest number of lines that the chat leaves on the terminal.
const maxLeft = 10_000

// left returns the conversation as text, for the terminal after the end of the chat. `colours` says whether it has colours and weights.
func (m *model) left(colours bool) string {
	var lines []string
	for _, it := range slices.Backward(m.items) {
		if lines = append(lines, reversed(m.linesOf(it))...); len(lines) > maxLeft {
			break
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	text := strings.Join(lines[max(0, len(lines)-maxLeft):], "\n") + "\n"
	if !colours {
		text = ansi.Strip(text)
	}
	return text
}

func reversed(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}

func (m *model) room() int { return max(0, m.height-2-m.input.Height()-len(m.menuView())) }

// body returns at least the last n lines of the conversation, or all if there are fewer.
func (m *model) body(n int) []string {
	parts, count := [][]string{m.tail()}, 0
	if m.started || len(m.items) > 0 || len(m.outbox) > 0 {
		count = len(parts[0])
	} else {
		parts[0] = indented("", m.welcome(), m.width)
	}
	for i := len(m.items) - 1; i >= 0 && count < n; i-- {
		lines := m.linesOf(m.items[i])
		parts, count = append(parts, lines), count+len(lines)
	}
	var all []string
	for _, lines := range slices.Backward(parts) {
		all = append(all, lines...)
	}
	return all
}

func (m *model) linesOf(it *item) []string {
	return it.lines(&m.md, m.width, m.expanded, it == m.selected)
}

func (m *model) total() int {
	n := len(m.tail())
	for _, it := range m.items {
		n += len(m.linesOf(it))
	}
	return n
}

// scrolledLines returns the number of all lines, and 0 if the screen shows the newest ones.
func (m *model) scrolledLines() int {
	if m.up == 0 {
		return 0
	}
	return m.total()
}

func (m *model) welcome() string {
	return fmt.Sprintf("Your first message starts agent %s. /help shows the keys.", printable.Name(m.id))
}

// statusLine says what the agent does and what it has used. Parts that do not fit are left out, the last first.
func (m *model) statusLine() string {
	parts := []string{cut(printable.Name(m.id), max(10, m.width/3)), m.state()}
	spent := m.snap.Usage.Spent()
	if spent.Cost != 0 {
		parts = append(parts, spent.Cost.String())
	}
	if n := m.snap.ContextTokens; n > 0 {
		text := "context " + grouped(n)
		if limit := m.snap.ContextLimit; limit > 0 {
			text += " of " + grouped(limit)
		}
		parts = append(parts, text)
	}
	if len(m.snap.Models) > 0 {
		parts = append(parts, modelName(m.snap.Models[0]))
	}
	if n := spent.Tokens(); n > 0 {
		parts = append(parts, grouped(n)+" tokens")
	}
	return cut(m.fitted(parts...), m.width)
}

// fitted returns the first parts of a line that fit on the screen, at least two.
func (m *model) fitted(parts ...string) string {
	line := ""
	for i, part := range parts {
		longer := line + part
		if i > 0 {
			longer = line + separator + part
		}
		if i > 1 && ansi.StringWidth(longer) > m.width {
			break
		}
		line = longer
	}
	return line
}

func (m *model) state() string {
	switch {
	case m.noServer:
		return "Temporal does not answer"
	case !m.started:
		return "not started"
	case m.noWorker:
		return m.o.NoWorker
	case m.status == "":
		return "reading"
	case m.status.Ended():
		return string(m.status)
	case m.retry != nil && m.partial == nil:
		return fmt.Sprintf("attempt %d: %s", m.retry.Attempt, printable.Line(m.retry.Message, 200))
	case m.status == client.Held && m.waitsFor == client.WaitsForMessage:
		return "interrupted, waits for you"
	case m.status == client.Held:
		return "held: " + printable.Line(m.snap.Failure, 200) + "; a message lets it go on"
	}
	state := cmp.Or(waitTexts[m.waitsFor], "works")
	if m.works() && !client.CallWaits(m.waitsFor) && !m.since.IsZero() {
		state += fmt.Sprintf(" %d s", int(m.now.Sub(m.since)/time.Second))
	}
	if m.retry != nil { // the attempt has brought text, so the person need not read why the earlier one failed
		state += fmt.Sprintf(", attempt %d", m.retry.Attempt)
	}
	if m.early != nil && m.early == m.showing {
		return "the key came too early: press it again"
	}
	return state
}

// hints returns the first parts of the line about the keys that fit on the screen, the most important first. A part is whole or left out.
func (m *model) hints(parts ...string) string { return m.hintsOf(1, parts) }

// hintsOf returns the hints of the first variant of which so many parts fit; of the last variant if there is none.
func (m *model) hintsOf(required int, variants ...[]string) string {
	line := ""
	for _, parts := range variants {
		fit := len(parts)
		for fit > 1 && ansi.StringWidth(strings.Join(parts[:fit], separator)) > m.width {
			fit--
		}
		if line = strings.Join(parts[:fit], separator); fit >= required && ansi.StringWidth(line) <= m.width {
			break
		}
	}
	return line
}

// separator stands between the parts of a line.
const separator = " · "

func (m *model) hint() string {
	switch w := m.approval(); {
	case m.leaving:
		return m.hintsOf(1, []string{"Press Ctrl-C again to detach; the agent goes on."}, []string{"Ctrl-C again detaches"})
	case m.stopping:
		return m.hintsOf(1, []string{"Press Esc again to interrupt the agent; its calls then end."}, []string{"Esc again interrupts; its calls then end"},
			[]string{"Esc again interrupts"})
	case len(m.choices()) > 0:
		return m.hints("Tab completes", "Up Down select", "Esc closes the list")
	case m.picker != nil:
		return m.hints("Enter opens the chat", "Up Down select", "type to filter", "Esc closes the list")
	case m.denying != nil:
		return m.hintsOf(2, []string{"Type the reason. Enter denies " + printable.Name(m.denying.Call.Name), "Esc goes back"},
			[]string{"Enter denies", "Esc goes back", "type the reason"})
	case m.pressed != nil:
		return m.pressHint()
	case w != nil && m.input.Value() == "" && m.selected == nil:
		return m.approvalHint(*w)
	case len(m.decisions) > 0 && m.input.Value() == "" && m.selected == nil:
		return m.decisions[0].hint(m)
	case m.recalled > 0:
		return m.hints("Enter sends this earlier text", "Up older", "Down newer", "PgUp PgDn scroll")
	case w != nil && m.input.Value() != "":
		return m.hints("Enter sends this message", "y, n and a decide if the input is empty", "Esc clears it")
	case m.selected != nil:
		text := "expands"
		if m.expanded != m.selected.flipped {
			text = "folds"
		}
		return m.hints("Enter "+text+" this call", "Tab older", "Shift-Tab newer", "Ctrl-O all", "Esc leaves")
	case m.question() != nil:
		if !m.headShown(*m.question()) || m.up > 0 {
			const answer, scroll, interrupt = "Enter answers the question", "PgUp PgDn show all of it", "Esc twice interrupts"
			return m.hintsOf(2, []string{answer, scroll, interrupt}, []string{"Enter answers", scroll})
		}
		return m.hints("Enter answers the question", "Esc twice interrupts")
	case m.up > 0:
		return "PgDn shows newer lines"
	case m.input.Value() != "" && m.works():
		return m.hints("Enter steers", "Esc clears the input", "/help", "Ctrl-J new line")
	case m.input.Value() != "":
		return m.hints("Enter sends", "Esc clears the input", "/help", "Ctrl-J new line")
	case m.works():
		return m.hints("Esc interrupts", "Enter steers", "/help", "Ctrl-O "+m.fold(), "Tab selects a call")
	}
	return m.hints("Enter sends", "/help", "Ctrl-J new line", "Ctrl-O "+m.fold(), "Ctrl-C twice detaches")
}

// approvalHint names the keys that decide on a call. On a narrow screen, the meaning of a is shorter, because all three keys must be there.
func (m *model) approvalHint(w client.Waits) string {
	if !m.inView(w) {
		return m.hintsOf(1, []string{"y shows the call that waits for your approval"}, []string{"y shows the call that waits"})
	}
	why := []string{}
	if m.partly == w.Call.Key {
		why = append(why, "Not decided: part was unseen")
	}
	switch {
	case !m.ready(w):
		return m.hintsOf(1, append(why, "y, n and a decide in a moment"), append(why, "in a moment"), []string{"y, n and a decide in a moment"})
	case !m.whole(w):
		return m.hintsOf(len(why)+2, append(why, "y shows more of this call, and approves it at its end", "n deny"), append(why, "y shows more of this call", "n deny"), []string{"y shows more of this call", "n deny"})
	}
	name, all := printable.Name(w.Call.Name), "a approve "+m.withAlike(w)+"all "
	approve, unseen := "y approve", m.unseenText(w)
	if !m.headShown(w) {
		approve += " " + name
	}
	if unseen != "" {
		approve += ", " + unseen + " unseen"
	}
	variants := [][]string{
		{approve, "n deny", all + "later calls of " + name + " by this agent"},
		{approve, "n deny", all + "later calls of " + name},
		{approve, "n deny", all + "its later calls"},
		{approve, "n deny", "a all its calls"},
		{approve, "n deny"}, // what is not on the screen counts more than the key for later calls
	}
	if unseen != "" {
		variants = append(variants, []string{"y approve, " + unseen + " unseen", "n deny"})
	}
	required := 3
	if isText(w.Call) { // a text is decided on alone
		variants, required = [][]string{{"y approve", "n deny"}}, 2
	}
	for i, parts := range variants {
		if len(approvals(m.waits)) > 1 {
			parts = append(parts, "Shift-Tab next call")
		}
		variants[i] = append(slices.Clone(why), parts...)
	}
	return m.hintsOf(len(why)+required, variants...)
}

func (m *model) fold() string {
	if m.expanded {
		return "folds"
	}
	return "expands"
}
