package openai

import (
	"cmp"
	"errors"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// chunk is one event of a streamed reply. Like [completion] it takes whatever
// is found in its fields.
type chunk struct {
	Model   text          `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   *usage        `json:"usage"`
	// Groq is Groq's place for the usage.
	Groq struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type chunkChoice struct {
	Index count    `json:"index"`
	Delta *message `json:"delta"`
	// Message is there in place of Delta where an endpoint streams a whole reply
	// in one event, and beside it where each event repeats what came before.
	Message      *message `json:"message"`
	FinishReason finish   `json:"finish_reason"`
}

// assembly is a reply in the making.
type assembly struct {
	// tell is told each piece.
	tell func(llm.Delta)

	model     text
	usage     usage
	finish    finish
	choice    *count
	content   strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	calls     assembledCalls
	size      int
}

// spoke reports whether the model said anything yet.
func (a *assembly) spoke() bool { return a.size > 0 }

// finished reports whether the reply came to its end. Only a finish reason says
// so: a connection may end anywhere.
func (a *assembly) finished() bool { return a.finish != "" }

// add takes the next event of the stream.
func (a *assembly) add(c chunk) error {
	a.model = cmp.Or(a.model, c.Model)
	// Some endpoints count in each event, up to there; the last count is the one.
	for _, u := range []*usage{c.Usage, c.Groq.Usage} {
		if u != nil && *u != (usage{}) {
			a.usage = *u
		}
	}
	for _, choice := range c.Choices {
		// One reply was asked for: another choice is another reply.
		if a.choice == nil {
			a.choice = &choice.Index
		}
		if *a.choice != choice.Index {
			continue
		}
		switch {
		case choice.Delta != nil:
			a.merge(choice.Delta)
		case choice.Message != nil && !a.spoke():
			a.merge(choice.Message)
		}
		if reason := choice.FinishReason; reason != "" && reason != "null" && a.finish == "" {
			a.finish = reason
		}
	}
	if a.size > maxReply {
		return errTooLarge
	}
	return nil
}

// merge adds a piece of the message.
func (a *assembly) merge(m *message) {
	thought := string(cmp.Or(m.ReasoningContent, m.Reasoning, m.Content.thinking))
	if thought != "" {
		a.reasoning.WriteString(thought)
		a.tell(llm.Delta{Reasoning: thought})
	}
	if said := string(m.Content.text); said != "" {
		a.content.WriteString(said)
		a.tell(llm.Delta{Text: said})
	}
	a.refusal.WriteString(string(m.Refusal))
	a.size += len(thought) + len(m.Content.text) + len(m.Refusal)

	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		first := count(0)
		m.ToolCalls = []call{{Index: &first, Function: *m.FunctionCall}}
	}
	for i, piece := range m.ToolCalls {
		told := a.calls.add(piece, i, len(m.ToolCalls))
		// A call costs memory even when it says nothing.
		a.size += 64 + len(piece.Function.Name) + len(piece.Function.Arguments)
		if told.Name != "" || told.Arguments != "" {
			a.tell(llm.Delta{ToolCall: &told})
		}
	}
}

// completion returns what was assembled, as if it had come at once.
func (a *assembly) completion() completion {
	whole := completion{Model: a.model, Usage: a.usage}
	if !a.finished() {
		return whole
	}
	whole.Choices = []choice{{FinishReason: a.finish, Message: message{
		Role:             "assistant",
		Content:          spoken{text: text(a.content.String())},
		Refusal:          text(a.refusal.String()),
		ReasoningContent: text(a.reasoning.String()),
		ToolCalls:        a.calls.whole(),
	}}}
	return whole
}

// errCutShort is the end of a stream before the end of its reply.
var errCutShort = errors.New("the stream ended without a finish reason: it was cut short")
