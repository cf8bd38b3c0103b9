package chat

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

const helpText = `Enter sends, Ctrl-J begins a new line. A message to an agent that works steers it; a message to an agent that asks is the answer.
Esc      interrupts the agent
Ctrl-O   shows calls, results, sub-agents and reasoning in full, and hides them again
PgUp/PgDn scroll; Up brings back earlier messages; Ctrl-L draws the screen again
Ctrl-C   twice detaches: the agent goes on
y n a    approve a call, deny it with a reason, or approve it and all later calls of this tool by this agent
/approve approves everything that waits for an approval
/fork N  goes on in a new agent that keeps the first N messages; without N it keeps all (Ctrl-O shows the numbers)
/model   the model in use       /cost  tokens and cost       /help  this text
A message that begins with two slashes is sent with one.`

// commandOf returns the fields of a command such as "/fork 3". The second result is false if the text is a message.
func commandOf(text string) ([]string, bool) {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.Contains(text, "\n") {
		return nil, false
	}
	return strings.Fields(text), true
}

// command carries out a command of the person.
func (m *model) command(words []string) tea.Cmd {
	m.up = 0
	switch words[0] {
	case "/help":
		m.note(helpText)
	case "/model":
		m.note(m.modelText())
	case "/cost":
		m.note(m.costText())
	case "/approve":
		return m.approveAll()
	case "/fork":
		at := 0
		if len(words) > 1 {
			var err error
			if at, err = strconv.Atoi(words[1]); err != nil || at < 1 || len(words) > 2 {
				m.note("/fork takes the number of messages that the fork keeps, such as /fork 4.")
				return nil
			}
		}
		if !m.started {
			m.note("There is nothing to fork yet.")
			return nil
		}
		return m.fork(at)
	default:
		m.note("There is no command " + printable.Name(words[0]) + "; /help lists them. To send this as a message, begin it with two slashes.")
	}
	return nil
}

// approveAll approves all calls on the screen that wait for an approval.
func (m *model) approveAll() tea.Cmd {
	var all []tea.Cmd
	for _, w := range m.waits {
		if w.Call.WaitsFor() == client.WaitsForApproval {
			all = append(all, m.approve(w, false))
		}
	}
	if len(all) == 0 {
		m.note("Nothing waits for an approval.")
	}
	return tea.Batch(all...)
}

// modelText names the models of the agent.
func (m *model) modelText() string {
	if len(m.snap.Models) == 0 {
		return "The model is not known yet."
	}
	first := m.snap.Models[0]
	text := fmt.Sprintf("The model is %s (%s)", printable.Name(first.Name), printable.Name(first.Model))
	for i, spare := range m.snap.Models[1:] {
		text += ", then "
		if i == 0 {
			text = strings.TrimSuffix(text, ", then ") + "; if it does not reply, "
		}
		text += fmt.Sprintf("%s (%s)", printable.Name(spare.Name), printable.Name(spare.Model))
	}
	return text + fmt.Sprintf(". To change it, change the configuration, restart the worker, and run `starter reload %s`.", printable.Name(m.id))
}

// costText says what the agent has used.
func (m *model) costText() string {
	u := m.snap.Usage
	all := u.Spent()
	text := fmt.Sprintf("%d model calls, %d tool calls; with sub-agents that have ended %s tokens in (%s of them from a cache) and %s out",
		u.ModelCalls, u.ToolCalls, grouped(all.InputTokens), grouped(all.CachedTokens), grouped(all.OutputTokens))
	if all.Cost != 0 {
		return text + "; cost " + all.Cost.String() + "."
	}
	return text + "; the cost is unknown, because the models have no prices in the configuration."
}

// grouped writes a number with commas between groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
