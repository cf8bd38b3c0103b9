package page

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
)

// wait is a call that waits for a person, as a form.
type wait struct {
	ID string
	// For is "approval", "answer" or "result". It is empty if the call does not wait any more.
	For string
	// Inside reports whether the form stands in the block of its call, which shows the arguments.
	Inside bool
	// Path and AgentID are those of the agent whose call it is.
	Path, AgentID string
	Key           string
	Name          string
	Form          []formLine
	// Question and Choices are those of a question.
	Question string
	Choices  []choice
	// Text is a text about which a guardrail asks, and Why the guardrail's reason.
	Text, Why string
	IsText    bool
	Since     time.Time
	Until     time.Time
	// Back is where the form leads without the script: an agent ID, or empty for the inbox.
	Back string
	// May reports whether the reader may decide.
	May bool
}

// choice is an answer that is proposed. Value is what the agent gets.
type choice struct{ Text, Value string }

func waitOf(w client.Waits) wait {
	c := w.Call
	v := wait{
		ID: "wait-" + string(c.Key), For: string(c.WaitsFor()), Path: conversationPath(w.AgentID), AgentID: printable.Name(w.AgentID), Key: string(c.Key),
		Name: printable.Name(c.Name), Back: w.AgentID,
	}
	if w.Since > 0 {
		v.Since = time.UnixMilli(w.Since).UTC()
	}
	if c.Wait.Until > 0 {
		v.Until = time.UnixMilli(c.Wait.Until).UTC()
	}
	if t, ok := c.AskedText(); ok {
		v.IsText, v.Text, v.Why = true, exact(t.Text), printable.Text(t.Reason)
		return v
	}
	if q, ok := c.Question(); ok && c.WaitsFor() == agent.WaitsForAnswer {
		v.Question = printable.Text(q.Question)
		for _, each := range q.Choices {
			v.Choices = append(v.Choices, choice{printable.Text(each), each})
		}
	}
	v.Form = linesOf(proposal.Of(c.Name, c.Arguments))
	return v
}

// exact returns a text on which a person decides.
func exact(text string) string {
	shown, escaped := printable.Exact(text)
	if escaped {
		return shown + "\n(with escapes; \\\\ is a backslash)"
	}
	return shown
}
