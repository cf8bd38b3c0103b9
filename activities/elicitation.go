package activities

import (
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// The limits of a [tool.Question]. Longer texts are cut, and further choices are left out.
const (
	maxQuestionBytes = 16_000
	maxChoices       = 50
	maxChoiceBytes   = 1000
)

// elicitation returns the result of a tool call with a question to a person. The result is an error for the model if the question is
// empty, if the question, its choices and its state are too large together, or if the state contains a secret or is not valid UTF-8.
func (a *Activities) elicitation(q tool.Question) protocol.ToolResult {
	e := agent.Elicitation{Question: clip.Text(text(a.redact(q.Text)), maxQuestionBytes), State: q.State}
	for _, choice := range q.Choices[:min(len(q.Choices), maxChoices)] {
		e.Choices = append(e.Choices, clip.Text(text(a.redact(choice)), maxChoiceBytes))
	}
	size := len(e.Question) + len(e.State) + len(strings.Join(e.Choices, ""))
	switch {
	case strings.TrimSpace(e.Question) == "":
		return protocol.ToolResult{Content: "error: the tool asks a person, but its question is empty", Kind: agent.Errored}
	case size > agent.MaxElicitationBytes:
		return protocol.ToolResult{Content: fmt.Sprintf("error: the tool asks a person, but its question and its state have %d bytes; the limit is %d", size, agent.MaxElicitationBytes), Kind: agent.Errored}
	case a.redact(e.State) != e.State || text(e.State) != e.State:
		return protocol.ToolResult{Content: "error: the tool asks a person, but its state is not valid UTF-8 or contains a secret of the worker, which must not enter the history", Kind: agent.Errored}
	}
	return protocol.ToolResult{Elicitation: &e}
}

// text replaces bytes that are not valid UTF-8 by U+FFFD, because the history is JSON and cannot keep other bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// answerOf returns a person's answer to the tool's question; nil if there is none.
func answerOf(e *agent.Elicitation) *tool.Answer {
	if e == nil || e.Answer == nil {
		return nil
	}
	return &tool.Answer{State: e.State, Text: e.Answer.Content, Declined: e.Answer.IsError}
}
