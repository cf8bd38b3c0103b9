package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/llm"
)

// Print writes an agent as text for people, with long arguments and results cut. The last lines say what a person can do next.
func Print(w io.Writer, s client.Snapshot) {
	fmt.Fprintf(w, "%s  %s  %s\n", printable.Name(s.ID), printable.Name(s.Agent), s.Status)
	for _, name := range slices.Sorted(maps.Keys(s.Metadata)) {
		fmt.Fprintf(w, "%s: %s\n", printable.Name(name), printable.Line(s.Metadata[name], 200))
	}
	if s.First > 0 {
		fmt.Fprintf(w, "… %d earlier messages were summarised; --all shows them\n", s.First)
	}
	p := progress.NewTranscript(screen.Raw(w), screen.Prose(w))
	p.Clock.Started, p.Models = s.Started, true
	for _, m := range s.Messages {
		p.Message(m)
		for _, v := range m.Verdicts {
			fmt.Fprintf(w, "guardrail  %s\n", verdictText(v))
		}
	}
	for _, c := range s.Pending {
		if !c.Waits() {
			fmt.Fprintf(w, "… %s %s\n", printable.Line(c.Name, 100), proposal.Summary(c.Name, c.Arguments, 200))
			continue
		}
		fmt.Fprintf(w, "… %s, waits for %s\n", CallName(c), c.WaitsFor())
		fmt.Fprint(screen.Raw(w), ArgumentsText(c.Name, c.Arguments, false, screen.Styled(w)))
	}
	for _, r := range s.Refused {
		fmt.Fprintf(w, "refused  %s: %s\n", refusedText(r), verdictText(r.GivenVerdict))
	}
	for _, m := range s.Queue {
		fmt.Fprintf(w, "waiting  > %s\n", printable.Line(m.Text, 200))
	}
	if earlier := s.ChildCount - len(s.Children); earlier > 0 {
		fmt.Fprintf(w, "… %d more sub-agents, which ended long ago or have not started\n", earlier)
	}
	for _, c := range s.Children {
		fmt.Fprintf(w, "sub-agent  %s  %s  %s\n", printable.Name(c.ID), printable.Name(c.Agent), c.Status)
	}
	if s.Retry != nil {
		fmt.Fprintln(w, progress.RetryText(*s.Retry, s.ID))
	}
	fmt.Fprintf(w, "%s, %s, %d tokens in%s, %d out%s\n",
		plural.Of(s.Usage.ModelCalls, "model call"), plural.Of(s.Usage.ToolCalls, "tool call"), s.Usage.InputTokens, cachedText(s.Usage.Usage), s.Usage.OutputTokens, CostText(s.Usage))
	if s.Stopped != "" {
		fmt.Fprintf(w, "The last turn was stopped by %s\n", LimitText(s))
	}
	if s.FinishReason != "" {
		fmt.Fprintf(w, "The answer may not be whole: the model ended it with the finish reason %s\n", printable.Name(s.FinishReason))
	}
	if text := repeatsText(s.Usage.Repeats); text != "" {
		fmt.Fprintln(w, text)
	}
	if s.Failure != "" {
		fmt.Fprintf(w, "%s: %s\n", s.Status, printable.Text(s.Failure))
	}
	fmt.Fprintln(w, session.Next(s))
}

// LimitText names the limit that ended the last turn, its value, and who set it.
func LimitText(s client.Snapshot) string {
	switch s.Limit.Of {
	case agent.LimitOfMessage:
		return fmt.Sprintf("the limit of %s that its message had set (limits.%s)", s.Limit.Value, s.Stopped)
	case agent.LimitOfStart:
		return fmt.Sprintf("the limit of %s that the agent was started with (limits.%s)", s.Limit.Value, s.Stopped)
	case agent.LimitOfParent:
		return fmt.Sprintf("the limit of %s that its parent gave it (limits.%s of the parent)", s.Limit.Value, s.Stopped)
	}
	if s.Limit.Value == "" {
		return "limits." + s.Stopped
	}
	return fmt.Sprintf("limits.%s of its configuration, %s", s.Stopped, s.Limit.Value)
}

// verdictText says what a guardrail, or the person whom it asked, has said about a text.
// refusedText says what was refused, and when. The text itself is not stored, and its ID tells a person nothing.
func refusedText(r agent.RefusedText) string {
	what := string(r.Kind)
	if r.AnswersQuestion() {
		what = "answer to a question"
	}
	if r.Time == 0 {
		return what
	}
	return what + " at " + time.UnixMilli(r.Time).Format(time.DateTime)
}

func verdictText(v agent.GivenVerdict) string {
	text := printable.Line(v.Guardrail, 100) + ": " + string(v.Action)
	if v.Reason != "" {
		text += ", " + printable.Line(v.Reason, 200)
	}
	if v.Decider != nil {
		text += ", by " + printable.Line(v.Decider.By, 100)
	}
	return text
}

// cachedText says how many of the input tokens the providers have read from their caches; empty if none.
func cachedText(u llm.Usage) string {
	cached := min(u.CachedTokens, u.InputTokens) // an endpoint may report anything
	if cached <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them, %d %%, from a prompt cache)", cached, int(100*float64(cached)/float64(u.InputTokens)))
}

func repeatsText(r agent.Repeats) string {
	if r.Attempts == 0 {
		return ""
	}
	text := fmt.Sprintf("%d attempts at model calls were repeated", r.Attempts)
	if r.Attempts == 1 {
		text = "1 attempt at a model call was repeated"
	}
	if r.Lost > 0 {
		text += fmt.Sprintf("; %d of them lost with a worker; the provider may have billed these, too (%d tokens in)", r.Lost, r.LostInputTokens)
	}
	return text
}

// CostText returns the last part of a line about an agent's usage: a comma and the cost. The cost includes the sub-agents that
// have ended. If the cost is 0, the part is empty.
func CostText(u agent.Usage) string {
	if cost := u.Spent().Cost; cost != 0 {
		return ", " + cost.String()
	}
	return ""
}
