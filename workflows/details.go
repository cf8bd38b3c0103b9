package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// This file makes the texts that the Temporal Web UI shows.

const (
	// summaryBytes is the largest size of a summary, in bytes. Temporal's limit is 400 bytes.
	summaryBytes = 200
	// detailsBytes is the largest size of details, in bytes. Temporal's limit is 20,000 bytes.
	detailsBytes    = 16_000
	detailsMessages = 12
	// peoplePage is the page that explains to people what they can do with an agent.
	peoplePage = "https://github.com/reagent-dev/reagent/blob/main/docs/people.md"
)

// Memo returns the memo with which the workflow of an agent starts. The memo has the fields [protocol.MemoAgent],
// [protocol.MemoIncarnation], [protocol.MemoKey] and [protocol.MemoTask]. MemoKey is left out if the start input has no key.
// MemoTask is left out if the start input has no message, continues an earlier run, or has NoUIContent.
func Memo(in agent.Start) map[string]any {
	memo := map[string]any{protocol.MemoAgent: in.Agent, protocol.MemoIncarnation: in.Incarnation}
	if in.Key != "" {
		memo[protocol.MemoKey] = in.Key
	}
	if len(in.Metadata) > 0 {
		memo[protocol.MemoMetadata] = in.Metadata
	}
	if in.Message != nil && !in.Continues() && !in.NoUIContent {
		memo[protocol.MemoTask] = TaskText(in.Message.Text)
	}
	return memo
}

// TaskText shortens an agent's first message to one line of at most 200 bytes without markup, for lists of agents.
func TaskText(text string) string { return oneLine(text) }

// StaticSummary describes an agent on one line, for lists of workflows in the Web UI. The line has the name of the definition
// and, unless the start has NoUIContent, the beginning of the first message.
func StaticSummary(in agent.Start) string {
	if in.Message == nil {
		return oneLine(in.Agent)
	}
	return oneLine(joined(in.Agent, said(in, in.Message.Text)))
}

// StaticDetails returns the details of an agent that do not change, in Markdown: the name of the definition, the mode, the
// depth, a link to the page that explains what people can do, and, unless the start has NoUIContent, the first message.
func StaticDetails(in agent.Start) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Agent** %s · **mode** %s · **depth** %d · [what people can do](%s)\n",
		code(in.Agent, 64), cmp.Or(in.Mode, agent.Task), in.Depth, peoplePage)
	if in.Message != nil && !in.NoUIContent {
		fmt.Fprintf(&b, "\n**Task**\n\n%s\n", quote(in.Message.Text, 4000))
	}
	return closed(&b)
}

// showDetails updates the details that the Web UI shows. They add nothing to the history, because Temporal reads them by a query.
func (d *driver) showDetails() {
	if d.unseen {
		return
	}
	workflow.SetCurrentDetails(d.root, d.details())
}

// details returns the current details of the workflow, in Markdown: status, usage, who has to act, open calls, sub-agents and
// the last messages. An agent with [agent.Start].NoUIContent shows nothing that anybody has said.
func (d *driver) details() string {
	s := d.state
	var b strings.Builder
	b.Grow(len(workflow.GetCurrentDetails(d.root)) + 1000) // a replay makes the details at each step
	fmt.Fprintf(&b, "**%s** · turn %d · %s · %s · %d tokens in, %d out%s\n", s.Status(), s.Turn.Number,
		plural.Of(s.Usage.ModelCalls, "model call"), plural.Of(s.Usage.ToolCalls, "tool call"), s.Usage.InputTokens, s.Usage.OutputTokens, costs(s))
	if counts := recoveries(s.Usage); counts != "" {
		b.WriteString("\n" + counts + "\n")
	}
	b.WriteString("\n" + d.nextAct() + "\n")
	switch {
	case s.Outcome != nil && s.Outcome.Status == agent.Failed:
		fmt.Fprintf(&b, "\n**Failed** (%s)\n%s", code(s.Outcome.Class, 64), d.saidBlock(s.Outcome.Message, 1000))
	case s.Hold != nil:
		fmt.Fprintf(&b, "\n**Held** (%s)\n%s", code(s.Hold.Class, 64), d.saidBlock(s.Hold.Message, 1000))
	}
	if s.Turn.Stopped != "" {
		fmt.Fprintf(&b, "\n**Stopped** at limits.%s\n", s.Turn.Stopped)
	}
	if n := len(s.Queue); n > 0 {
		fmt.Fprintf(&b, "\n**Queued**: %s\n", waiting(s.Hold != nil, n))
	}
	if pending := s.Open(); len(pending) > 0 {
		b.WriteString("\n**Pending**\n\n")
		b.WriteString(strings.Join(callLines(len(pending), func(i int) string {
			if d.start.NoUIContent {
				return code(pending[i].Name, 64)
			}
			return callLine(pending[i].Name, pending[i].Arguments)
		}), "\n") + "\n")
	}
	b.WriteString(d.childLines())
	if d.start.Continues() { // the static details are those of the first run only
		fmt.Fprintf(&b, "\n**Agent** %s · **mode** %s\n", code(s.Agent, 64), s.Mode)
		first, last := d.said(firstTask(s)), d.said(lastTask(s))
		if first != "" && first != last {
			fmt.Fprintf(&b, "\n**First task**\n\n%s\n", quote(first, 1000))
		}
		if last != "" {
			fmt.Fprintf(&b, "\n**Task**\n\n%s\n", quote(last, 1000))
		}
	}
	if !d.start.NoUIContent {
		b.WriteString("\n**Last messages**\n")
		for _, text := range d.shown.last(s) {
			b.WriteString(text)
		}
	}
	return closed(&b)
}

// costs describes the cost of the agent in a short text. If sub-agents have cost something, too, the text also has the cost of
// the agent and its sub-agents together. The text is empty if the total cost is 0.
func costs(s *agent.State) string {
	own, tree := s.Usage.Cost, s.Spent().Cost
	switch tree {
	case 0:
		return ""
	case own:
		return fmt.Sprintf(" · %s", own)
	}
	return fmt.Sprintf(" · %s, %s with sub-agents", own, tree)
}

// nextAct returns the line of the details that says who has to act next: a person, the agent, or nobody. If it is a person, the line has
// the command to use, if there is one: see [protocol.Commands].
func (d *driver) nextAct() string {
	s, commands := d.state, d.options.Commands
	status := s.Status()
	if !status.Ended() && s.CallWaitsFor() != "" {
		return d.whoActs()
	}
	switch status {
	case agent.Held:
		if s.Hold.Class == agent.Interrupted {
			return "**Next**: you. A person interrupted the turn. It goes on with the next message" + d.alternatives(commands.Message(s.AgentID))
		}
		return "**Next**: you. Mend the cause, then let the turn go on by a message" + d.alternatives(commands.Message(s.AgentID))
	case agent.Waiting:
		if s.WaitsFor() == agent.WaitsForSubAgents {
			return "**Next**: the sub-agents in the background. Nobody has to act."
		}
		return "**Next**: you. The agent waits for a message" + d.alternatives(commands.Message(s.AgentID))
	case agent.Failed, agent.Cancelled:
		return "**Next**: you, if it is to go on" + d.alternatives(commands.Resume(s.AgentID))
	case agent.Completed:
		return "**Next**: nobody. The agent has answered."
	}
	return "**Next**: the agent. Nobody has to act."
}

// whoActs says which calls and texts wait for somebody outside, and with which commands a person settles them.
func (d *driver) whoActs() string {
	waiting := slices.DeleteFunc(d.state.Open(), func(c agent.Call) bool { return !c.Waits() })
	what := "texts"
	if slices.ContainsFunc(waiting, func(c agent.Call) bool { _, text := c.AskedText(); return !text }) {
		what = "calls"
	}
	lines := []string{"**Next**: you. These " + what + " wait for a person:\n"} // a list needs an empty line before it
	for _, c := range waiting {
		if len(lines) > detailsCalls {
			lines = append(lines, "- and more"+d.alternatives(d.options.Commands.Inbox()))
			break
		}
		commands := d.alternatives(d.options.Commands.Settle(d.state.AgentID, c.Key, c.WaitsFor()))
		if t, asks := c.AskedText(); asks {
			t.Reason, t.Text = d.said(t.Reason), d.said(t.Text)
			lines = append(lines, askedTextItem(c.Name, t, commands))
			continue
		}
		if d.start.NoUIContent {
			lines = append(lines, "- "+code(c.Name, 64)+commands)
			continue
		}
		q, asks := c.Question()
		if text := proposalText(c); text != "" && !asks {
			lines = append(lines, fmt.Sprintf("- %s%s\n\n%s\n", code(c.Name, 64), commands, text))
			continue
		}
		what := c.Arguments
		if asks {
			what = q.Question
		}
		lines = append(lines, fmt.Sprintf("- %s %s%s", code(c.Name, 64), code(what, 1000), commands))
	}
	return strings.Join(lines, "\n")
}

// askedTextItem returns the item of a list for a text about which a guardrail asks: what it is, why a person is asked, the commands, and the text.
func askedTextItem(guardrail string, t agent.AskedText, commands string) string {
	reason := ""
	if t.Reason != "" {
		reason = " (" + code(t.Reason, 300) + ")"
	}
	item := fmt.Sprintf("- the text of the %s, about which the guardrail %s asks%s%s", t.Kind, code(guardrail, 64), reason, commands)
	if t.Text == "" {
		return item
	}
	return item + "\n\n" + nested(quote(t.Text, 1000)) + "\n"
}

// nested indents a code block so that it belongs to an item of a list.
func nested(block string) string { return "  " + strings.ReplaceAll(block, "\n", "\n  ") }

// proposalText returns the arguments of a call in the form in which a person judges them, as a code block in an item of a list. It is empty if
// a line of JSON says the same, and for long arguments: the details are made at each step of the agent.
func proposalText(c agent.Call) string {
	if len(c.Arguments) > detailsBytes {
		return ""
	}
	form := proposal.Of(c.Name, c.Arguments)
	if !slices.ContainsFunc(form, func(l proposal.Line) bool { return l.Kind != proposal.Field }) {
		return ""
	}
	begin, left := form.Cut(20, 1000)
	text := begin.String()
	if left != "" {
		text += "… and " + left
	}
	return nested(quote(text, detailsBytes))
}

// alternatives ends a sentence with the commands, as Markdown, such as ": `a` or `b`". For no commands, it returns a full stop. If a
// command is too long, the command for the inbox takes the place of all: a command that was cut would name another agent.
func (d *driver) alternatives(commands []string) string {
	const limit = 1100
	if len(commands) == 0 {
		return "."
	}
	if slices.ContainsFunc(commands, func(c string) bool { return len(c) > limit }) {
		commands = d.options.Commands.Inbox()
	}
	var codes []string
	for _, c := range commands {
		codes = append(codes, code(c, limit))
	}
	return ": " + strings.Join(codes, " or ")
}

// firstTask returns the text of the first message of a user. It returns "" if a summary has taken its place.
func firstTask(s *agent.State) string {
	if s.Dropped > 0 || len(s.Messages) == 0 || s.Messages[0].Role != llm.User {
		return ""
	}
	return s.Messages[0].Content
}

// lastTask returns the text of the newest user message in the next model request. It returns "" if there is none.
func lastTask(s *agent.State) string {
	for i := s.SentCount() - 1; i >= 0; i-- {
		if m := s.Sent(i); m.Role == llm.User {
			return m.Content
		}
	}
	return ""
}

const detailsCalls = 20

// callLines returns the lines of a list of n calls. Each of the first [detailsCalls] calls has a line. If there are more
// calls, a last line says how many more. The function `call` returns the text for the call with a given index.
func callLines(n int, call func(int) string) []string {
	var lines []string
	for i := range min(n, detailsCalls) {
		lines = append(lines, "- "+call(i))
	}
	if n > detailsCalls {
		lines = append(lines, fmt.Sprintf("- and %d more", n-detailsCalls))
	}
	return lines
}

func callLine(name, arguments string) string { return code(name, 64) + " " + code(arguments, 200) }

// waiting returns a text about the n messages in the queue. The text has their number, and says when the agent reads them.
// `held` says whether the turn is held: see [agent.Hold]. In a held turn, the agent reads these messages only after it has
// received another message.
func waiting(held bool, n int) string {
	if held {
		return plural.Of(n, "message") + " from before the turn was held; the next message lets the turn go on, and they follow it"
	}
	return plural.Of(n, "message") + " that the agent reads next"
}

// detailsChildren is the largest number of sub-agents that the details show: see [driver.childLines].
const detailsChildren = 20

// childLines returns a list of the agent's sub-agents, in Markdown. The list shows at most [detailsChildren] sub-agents. It
// prefers running sub-agents to ended ones, and newer ones to older ones. The lines are in the order in which the agent
// called the sub-agents. A last line has the number of sub-agents that are not shown.
func (d *driver) childLines() string {
	s, namespace := d.state, workflow.GetInfo(d.root).Namespace
	if s.ChildCount() == 0 {
		return ""
	}
	chosen := map[int]string{}
	for _, done := range []bool{false, true} {
		for i, c := range slices.Backward(s.Children) {
			if c.Phase.Ended() != done || len(chosen) == detailsChildren {
				continue
			}
			switch c.Phase {
			case agent.ChildHasFailed:
				chosen[i] = "failed"
			case agent.ChildHasAnswered:
				chosen[i] = "done"
			default:
				chosen[i] = "running"
			}
		}
	}
	var b strings.Builder
	b.WriteString("\n**Sub-agents**\n\n")
	for i, c := range s.Children {
		if state := chosen[i]; state != "" {
			task := ""
			if !d.start.NoUIContent {
				task = " (" + code(c.Task, 100) + ")"
			}
			fmt.Fprintf(&b, "- [%s](%s): %s%s\n", code(c.ID, 300), workflowPath(namespace, c.ID), state, task)
		}
	}
	if others := s.ChildCount() - len(chosen); others > 0 {
		fmt.Fprintf(&b, "- and %d more\n", others)
	}
	return b.String()
}

// shown keeps the texts of the last messages in the details, so that each message is converted to Markdown only once.
type shown struct {
	texts []string
	next  int               // index in the transcript of the first message that has no text yet
	tools map[string]string // names of tools by call ID, for the newest message with calls: an ID is unique within a message only
}

// last returns the texts of the last [detailsMessages] messages of the transcript. It converts only the messages that were
// added since its previous call.
func (h *shown) last(s *agent.State) []string {
	for h.next = max(h.next, s.Dropped, s.Count()-detailsMessages); h.next < s.Count(); h.next++ {
		m := s.Messages[h.next-s.Dropped]
		if len(m.ToolCalls) > 0 {
			h.tools = map[string]string{}
		}
		for _, call := range m.ToolCalls {
			h.tools[call.ID] = call.Name
		}
		h.texts = append(h.texts, "\n"+line(m, h.tools[m.ToolCallID])+"\n")
	}
	h.texts = h.texts[max(0, len(h.texts)-detailsMessages):]
	return h.texts
}

// recoveries returns one line with the counts of unusual events, such as recalled results and repeated attempts. It leaves
// out counts of 0. If all counts are 0, it returns "".
func recoveries(u agent.Usage) string {
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{u.Recalled, "recalled"}, {u.Reattached, "reattached"}, {u.Unanswered, "unanswered"}, {u.Repaired, "repaired"},
		{u.EmptyReplies, "empty replies"}, {u.Repeats.Attempts, "attempts repeated"}, {u.Repeats.Lost, "attempts lost with a worker"}, {u.RepairedReplies, "replies put right"},
		{u.ResumeConflicts, "resume conflicts"}, {u.DuplicateEvents, "duplicates ignored"},
	} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprint(c.n, " ", c.what))
		}
	}
	return strings.Join(counts, " · ")
}

// line returns one message in Markdown. `toolName` is the name of the tool if the message is the result of a tool call, and empty
// for any other message.
func line(m agent.Message, toolName string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", m.Role)
	if toolName != "" {
		b.WriteString(" " + code(toolName, 64))
	}
	if m.Content != "" {
		limit := 800
		if m.Role == llm.Tool {
			limit = 300
		}
		b.WriteString("\n\n" + quote(m.Content, limit))
	}
	lines := callLines(len(m.ToolCalls), func(i int) string { return callLine(m.ToolCalls[i].Name, m.ToolCalls[i].Arguments) })
	if len(lines) > 0 { // without the empty line, Markdown would add the list to the line before it
		b.WriteString("\n\n" + strings.Join(lines, "\n"))
	}
	return b.String()
}
