package reagenttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// MadeCall is a tool call of an agent, or a call of a sub-agent, that the model has asked for.
type MadeCall struct {
	// Name and Arguments are those that the model wrote.
	Name, Arguments string
	// Result is the text that the model got. It is empty if there is none yet.
	Result string
	// Kind says what the result is, such as an error. The zero value is a result of the tool.
	Kind agent.ResultKind
	// Decider says who has decided on the call: nil if nobody has.
	Decider *agent.Decider
	// Runs is how often the tool has run for this call: see [Effect]. It counts only tools of [reagent.Options].Tools.
	Runs int
}

// String returns the name and the arguments, as in `price {"name":"cherry"}`.
func (c MadeCall) String() string { return callText(c.Name, c.Arguments) }

func callText(name, arguments string) string { return strings.TrimSpace(name + " " + arguments) }

// Transcript returns the agent's messages. If the conversation was summarised, it has only the messages after that.
func (a *Agent) Transcript() []agent.Message {
	a.agents.t.Helper()
	var all []agent.Message
	for from := 0; ; {
		var page protocol.TranscriptPage
		a.must("read the transcript", a.stage.query(a.id, protocol.TranscriptQuery, &page, protocol.TranscriptInput{From: max(from, page.First)}))
		from = max(from, page.First) + len(page.Messages)
		all = append(all, page.Messages...)
		if len(page.Messages) == 0 || from >= page.Count {
			return all
		}
	}
}

// Calls returns the tool calls and sub-agent calls of the agent, in the order in which the model asked for them.
func (a *Agent) Calls() []MadeCall {
	a.agents.t.Helper()
	runs := a.agents.effects.runs()
	var calls []MadeCall
	var batch []int // the calls of the newest reply that have no result yet
	for _, m := range a.Transcript() {
		switch m.Role {
		case llm.Assistant:
			batch = nil
			for _, c := range m.ToolCalls {
				batch = append(batch, len(calls))
				calls = append(calls, MadeCall{Name: c.Name, Arguments: c.Arguments})
			}
		case llm.Tool: // the results come in the order of the calls
			if len(batch) > 0 {
				c := &calls[batch[0]]
				c.Result, c.Kind, c.Decider, c.Runs = m.Content, m.Result, m.Decider, runs[string(m.Key)]
				batch = batch[1:]
			}
		}
	}
	return calls
}

// Said returns the text of the agent's last answer. It is empty if there is none.
func (a *Agent) Said() string {
	a.agents.t.Helper()
	for _, m := range slices.Backward(a.Transcript()) {
		if m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
			return m.Content
		}
	}
	return ""
}

// Status returns the agent's status, such as [agent.Completed].
func (a *Agent) Status() agent.Status {
	a.agents.t.Helper()
	return a.view().Status
}

// WaitsFor returns what the agent waits for, such as [agent.WaitsForApproval].
func (a *Agent) WaitsFor() agent.WaitsFor {
	a.agents.t.Helper()
	return a.view().WaitsFor
}

// Waits returns the calls that wait for somebody outside, in the order in which the model asked for them.
func (a *Agent) Waits() []agent.Call {
	a.agents.t.Helper()
	return slices.DeleteFunc(a.open(), func(c agent.Call) bool { return c.WaitsFor() == "" })
}

// Usage returns what the agent has used: model calls, tool calls, tokens and cost. See [reagent.Model].Price for the cost.
func (a *Agent) Usage() agent.Usage {
	a.agents.t.Helper()
	return a.view().Usage
}

// Text returns the transcript as text: a paragraph for each message, with its role, its text and its tool calls. The lines of a text after
// the first are indented. A line says who has decided on a call. If the agent has failed, or is held by a failure, the last line says why: see
// [Agent.Err].
func (a *Agent) Text() string {
	a.agents.t.Helper()
	var out strings.Builder
	for _, m := range a.Transcript() {
		out.WriteString(messageText(m))
	}
	if failed := failure(a.id, a.view()); failed != nil && (failed.Status == agent.Failed || failed.Status == agent.Held) {
		out.WriteString("(" + strings.ReplaceAll(failed.reason(), "\n", "\n  ") + ")\n")
	}
	return out.String()
}

func messageText(m agent.Message) string {
	lines := []string{}
	if m.Content != "" {
		lines = append(lines, strings.Split(m.Content, "\n")...)
	}
	for _, part := range m.Parts {
		lines = append(lines, fmt.Sprintf("[%s]", part.Type))
	}
	for _, c := range m.ToolCalls {
		lines = append(lines, "→ "+callText(c.Name, c.Arguments))
	}
	switch {
	case m.Decider == nil:
	case m.Decider.Denied:
		lines = append(lines, "(denied)")
	default:
		lines = append(lines, "(by a person)")
	}
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = strings.TrimRight(" "+line, " ")
		case line != "":
			lines[i] = "  " + line
		}
	}
	return string(m.Role) + ":" + strings.Join(lines, "\n") + "\n"
}

// state describes the agent for an error.
func (a *Agent) state() string {
	a.agents.t.Helper()
	view := a.view()
	if failed := failure(a.id, view); failed != nil {
		return "the agent is " + failed.reason()
	}
	text := fmt.Sprintf("the agent is %s", view.Status)
	if view.WaitsFor != "" {
		text += fmt.Sprintf(" and waits for %s", view.WaitsFor)
	}
	return text
}
