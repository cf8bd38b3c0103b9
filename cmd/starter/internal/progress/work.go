package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// reportEvery is the shortest time between two lines that say what an agent works on. Such lines are written only if the
// output is not a terminal.
const reportEvery = 10 * time.Second

type work struct {
	// since is when the current work began. It is set when the command starts, when a message arrives, and whenever the agent
	// does not work. [work.line] shows the time that has passed since then.
	since time.Time
	// calls are the tool calls of the last reply that have no result yet.
	calls []llm.ToolCall
	// answered says that the last message is the agent's answer. The agent then has at most to tell its hooks that it has ended.
	answered bool
}

// line returns one line that says what the agent works on: its definition, the model, the tools, or its end. The line also contains the
// time so far, the number of words of the reply so far, and the number of the attempt. line must be called with every [client.Progress]
// that [client.Client.Watch] yields.
//
// The result is empty if the progress contains a message, if the agent does not work, if no worker answers, or if Temporal does not answer.
func (w *work) line(p client.Progress, now time.Time) string {
	if m := p.Message; m != nil {
		w.message(*m, now)
		return ""
	}
	if p.Status != client.Running {
		if p.Status != "" || p.Rewound {
			w.since, w.calls, w.answered = now, nil, false
		}
		return ""
	}
	what := "the model"
	switch {
	case p.Retry != nil && p.Retry.Unserved():
		what = p.Retry.What
		if p.LoadsDefinition {
			what = "agent"
		}
		return fmt.Sprintf("a worker that has the %s: %s", what, elapsedText(now.Sub(w.since)))
	case p.LoadsDefinition:
		what = "the agent's definition"
	case len(w.calls) > 0:
		what = callsText(w.calls)
	case w.answered:
		what = "the end of the agent"
	}
	parts := []string{fmt.Sprintf("%s: %s", what, elapsedText(now.Sub(w.since)))}
	if p.PartialText != nil {
		parts = append(parts, partialText(*p.PartialText))
	}
	switch {
	case p.Retry != nil && p.Retry.Next.After(now):
		parts = append(parts, fmt.Sprintf("%s starts in %d s", attemptText(p.Retry.Attempt, p.Retry.Limit), int(p.Retry.Next.Sub(now).Round(time.Second).Seconds())))
	case p.Retry != nil:
		parts = append(parts, attemptText(p.Retry.Attempt, p.Retry.Limit))
	case p.PartialText != nil && p.PartialText.Attempt > 1:
		parts = append(parts, attemptText(p.PartialText.Attempt, 0))
	}
	return strings.Join(parts, ", ")
}

// A reply of the model begins tool calls; the result of a tool ends one.
func (w *work) message(m agent.Message, now time.Time) {
	w.since, w.answered = now, m.Role == llm.Assistant && len(m.ToolCalls) == 0
	if m.Role != llm.Tool {
		w.calls = slices.Clone(m.ToolCalls)
		return
	}
	w.calls = slices.DeleteFunc(w.calls, func(c llm.ToolCall) bool { return c.ID == m.ToolCallID })
}

func callsText(calls []llm.ToolCall) string {
	var names []string
	for i, c := range calls {
		if i == 3 {
			names = append(names, fmt.Sprintf("%d more", len(calls)-i))
			break
		}
		names = append(names, printable.Line(c.Name, 50))
	}
	return strings.Join(names, ", ")
}

// partialText returns a text with the number of words of the reply so far, such as "12 words". Of a long reply, the client
// has only the end. The number is then an estimate, and the text begins with "about".
func partialText(w client.PartialText) string {
	n, about := len(strings.Fields(w.Text)), ""
	if w.Said > len(w.Text) && len(w.Text) > 0 {
		n, about = n*w.Said/len(w.Text), "about "
	}
	if n == 1 {
		return about + "1 word"
	}
	return fmt.Sprintf("%s%d words", about, n)
}

func elapsedText(d time.Duration) string {
	seconds := int(max(0, d).Seconds())
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
}

// tookText is empty for less than 0.1 s.
func tookText(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf(" (%.1f s)", d.Seconds())
	}
	return " (" + elapsedText(d) + ")"
}
