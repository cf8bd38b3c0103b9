package workflows

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// What a person sees in the Temporal Web UI.

const (
	// summaryBytes keeps below Temporal's limit of 400 bytes for a summary.
	summaryBytes = 200
	// detailsBytes keeps below Temporal's limit of 20,000 bytes for details.
	detailsBytes = 16_000
	// lineRunes is how long the lines of a quoted text are.
	lineRunes = 110
	// storyMessages is how many of the last messages the details show.
	storyMessages = 12
)

// Memo returns the memo of an agent.
func Memo(in Start) map[string]any {
	memo := map[string]any{MemoAgent: in.Agent, MemoLife: in.Life}
	if in.Key != "" {
		memo[protocol.MemoKey] = in.Key
	}
	return memo
}

// StaticSummary returns the line by which a list of workflows shows an agent.
func StaticSummary(in Start) string {
	if in.Message == nil {
		return clip(in.Agent)
	}
	return clip(in.Agent + " · " + in.Message.Text)
}

// StaticDetails returns what stays true of an agent, in Markdown.
func StaticDetails(in Start) string {
	var b strings.Builder
	mode := in.Mode
	if mode == "" {
		mode = agent.Task
	}
	fmt.Fprintf(&b, "**Agent** %s · **mode** %s · **depth** %d\n", in.Agent, mode, in.Depth)
	if in.Message != nil {
		fmt.Fprintf(&b, "\n**Task**\n\n%s\n", quote(in.Message.Text, 4000))
	}
	return cutText(b.String(), detailsBytes)
}

// tell sets the current details: the story so far. They are served by a query and
// cost no history.
func (d *driver) tell() {
	workflow.SetCurrentDetails(d.root, d.story())
}

func (d *driver) story() string {
	s := d.state
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · turn %d · %s · %s · %d tokens in, %d out\n", s.Status(), s.Turn.Number,
		plural(s.Usage.ModelCalls, "model call"), plural(s.Usage.ToolCalls, "tool call"), s.Usage.InputTokens, s.Usage.OutputTokens)
	if counts := recoveries(s.Usage); counts != "" {
		b.WriteString("\n" + counts + "\n")
	}
	if s.Held != nil {
		fmt.Fprintf(&b, "\n**Held** (%s): %s\n", s.Held.Class, quote(s.Held.Message, 1000))
	}
	if n := len(s.Inbox); n > 0 {
		fmt.Fprintf(&b, "\n**Inbox**: %s\n", waiting(s.Held != nil, n))
	}
	if pending := s.Pending(); len(pending) > 0 {
		b.WriteString("\n**Pending**\n\n")
		for _, c := range pending {
			fmt.Fprintf(&b, "- %s %s\n", code(c.Name, 64), code(c.Arguments, 200))
		}
	}
	b.WriteString(childLines(s))
	b.WriteString("\n**Last messages**\n")
	for _, text := range d.shown.last(s) {
		b.WriteString(text)
	}
	return cutText(b.String(), detailsBytes)
}

// waiting says for what the messages in the inbox wait.
func waiting(held bool, n int) string {
	if held {
		return plural(n, "message") + " from before the turn was held; the next message lets the turn go on, and they follow it"
	}
	return plural(n, "message") + " that the agent reads next"
}

// detailsChildren is how many sub-agents the details show, those that run first.
const detailsChildren = 20

// childLines lists the sub-agents that run, and of the others the newest.
func childLines(s *agent.State) string {
	if s.ChildCount() == 0 {
		return ""
	}
	chosen := map[int]string{}
	for _, done := range []bool{false, true} {
		for i, c := range slices.Backward(s.Children) {
			if c.Done != done || len(chosen) == detailsChildren {
				continue
			}
			chosen[i] = "running"
			switch {
			case c.Failed:
				chosen[i] = "failed"
			case c.Done:
				chosen[i] = "done"
			}
		}
	}
	var b strings.Builder
	b.WriteString("\n**Sub-agents**\n\n")
	for i, c := range s.Children {
		if state := chosen[i]; state != "" {
			fmt.Fprintf(&b, "- %s: %s (%s)\n", code(c.ID, 300), state, code(c.Task, 100))
		}
	}
	if others := s.ChildCount() - len(chosen); others > 0 {
		fmt.Fprintf(&b, "- and %d more\n", others)
	}
	return b.String()
}

// shown holds the last messages as the details show them, so that each is written once.
type shown struct {
	texts []string
	next  int               // the place of the first message that is not among them
	tools map[string]string // by the call's ID, which is unique within a message
}

func (h *shown) last(s *agent.State) []string {
	for h.next = max(h.next, s.Dropped, s.Count()-storyMessages); h.next < s.Count(); h.next++ {
		m := s.Messages[h.next-s.Dropped]
		if len(m.ToolCalls) > 0 {
			h.tools = map[string]string{}
		}
		for _, call := range m.ToolCalls {
			h.tools[call.ID] = call.Name
		}
		h.texts = append(h.texts, "\n"+line(m, h.tools[m.ToolCallID])+"\n")
	}
	h.texts = h.texts[max(0, len(h.texts)-storyMessages):]
	return h.texts
}

// recoveries tells what was not as usual.
func recoveries(u agent.Usage) string {
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{u.Recalled, "recalled"}, {u.Reattached, "reattached"}, {u.Interrupted, "interrupted"}, {u.Repaired, "repaired"},
		{u.EmptyReplies, "empty replies"}, {u.RepairedReplies, "replies put right"},
		{u.ResumeConflicts, "resume conflicts"}, {u.DuplicateEvents, "duplicates ignored"},
	} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprint(c.n, " ", c.what))
		}
	}
	return strings.Join(counts, " · ")
}

// line shows one message; tool is the one whose result it is.
func line(m agent.Message, tool string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", m.Role)
	if tool != "" {
		fmt.Fprintf(&b, " `%s`", tool)
	}
	if m.Content != "" {
		limit := 800
		if m.Role == llm.Tool {
			limit = 300
		}
		b.WriteString("\n\n" + quote(m.Content, limit))
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			b.WriteString("\n") // or Markdown takes the list for a part of the line
		}
		fmt.Fprintf(&b, "\n- %s %s", code(call.Name, 64), code(call.Arguments, 200))
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// quote writes untrusted text as a Markdown block that nothing in it can end, in
// lines that fit into the page.
func quote(text string, limit int) string {
	var b strings.Builder
	for part := range strings.Lines(cutText(text, limit)) {
		part = strings.TrimRight(part, "\r\n")
		if len(part) <= lineRunes {
			b.WriteString("    " + part + "\n")
			continue
		}
		runes := []rune(part)
		for {
			end := min(len(runes), lineRunes)
			if space := slices.Index(runes[end/2:end], ' '); end < len(runes) && space >= 0 {
				for end > 0 && runes[end-1] != ' ' {
					end--
				}
			}
			b.WriteString("    " + string(runes[:end]) + "\n")
			if runes = runes[end:]; len(runes) == 0 {
				break
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code writes untrusted text as Markdown code on one line.
func code(text string, limit int) string {
	text = strings.Join(strings.Fields(cutText(text, limit)), " ")
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// clip makes one line of text for a summary.
func clip(text string) string {
	return cutText(strings.Join(strings.Fields(cutText(text, 4*summaryBytes)), " "), summaryBytes)
}

// cutText cuts text to at most limit bytes, between two runes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
