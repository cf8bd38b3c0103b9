package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// reportEvery is the least time between two lines that say what an agent works on, where no line can be drawn anew.
const reportEvery = 10 * time.Second

// work follows what an agent works on, from the messages that it shows.
type work struct {
	// since is the time at which the command began to wait or, if later, the newest message arrived.
	since time.Time
	// calls are the tool calls without a result.
	calls []llm.ToolCall
}

// line takes what [client.Client.Watch] yields and returns one line that says what the agent works on, for how long, how
// many words have arrived and which attempt it is. It is empty while the agent does not work, or nobody answers for it.
func (w *work) line(p client.Progress, now time.Time) string {
	if m := p.Message; m != nil {
		w.message(*m, now)
		return ""
	}
	if p.Status != client.Running {
		if p.Status != "" || p.Rewound {
			w.since, w.calls = now, nil
		}
		return ""
	}
	what := "the model"
	if len(w.calls) > 0 {
		what = callsText(w.calls)
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

func (w *work) message(m agent.Message, now time.Time) {
	w.since = now
	if m.Role != llm.Tool {
		w.calls = m.ToolCalls
		return
	}
	var open []llm.ToolCall
	for _, c := range w.calls {
		if c.ID != m.ToolCallID {
			open = append(open, c)
		}
	}
	w.calls = open
}

// callsText names the tools of calls, the first three of them.
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

// partialText counts the words that have arrived. Of a long text the client has the end only; then it is an estimate.
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

// elapsedText returns a duration in seconds, or in minutes and seconds.
func elapsedText(d time.Duration) string {
	seconds := int(max(0, d).Seconds())
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
}

// tookText says how long a tool took, in brackets; it is empty for a tenth of a second or less, and where nobody knows.
func tookText(milliseconds int64) string {
	d := time.Duration(milliseconds) * time.Millisecond
	switch {
	case d < 100*time.Millisecond:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf(" (%.1f s)", d.Seconds())
	}
	return " (" + elapsedText(d) + ")"
}
