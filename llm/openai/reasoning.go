package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// The values of [Reasoning.Send].
const (
	Never      = "never"  // requests have no reasoning
	WithinTurn = "turn"   // the messages after the last user message have their reasoning
	Always     = "always" // all messages have their reasoning
)

// Reasoning says how the reasoning text of assistant messages is sent back to the model in chat completions requests. Some providers
// refuse a request without it, and others refuse a request with it.
type Reasoning struct {
	// Send is [Never], [WithinTurn] or [Always]. If Send is empty, the provider and the model decide:
	//   - [Always] for DeepSeek (except R1), Kimi and MiMo
	//   - [WithinTurn] for GLM
	//   - [Never] for all others, and for every model behind OpenRouter
	//
	// If an endpoint refuses a request because of the reasoning, the client sends the reasoning differently from then on.
	Send string
	// Field is the name of the field of the message that has the reasoning. Defaults to "reasoning_content".
	Field string
}

// noThought is sent to Kimi as the reasoning of a message with calls that has no reasoning, because another model made it. Kimi
// refuses an empty text.
const noThought = " "

// DefaultReasoning returns the default of [Options.Reasoning]. `host` is the host of [Options.BaseURL], and `model` is the provider's
// name of the model.
func DefaultReasoning(host, model string) Reasoning {
	from, name := endpoint.Provider(host), strings.ToLower(model)
	is := func(p, word string) bool { return from == p || strings.Contains(name, word) }
	r := Reasoning{Send: Never, Field: "reasoning_content"}
	switch {
	case from == "openrouter":
		// OpenRouter takes the reasoning in the field reasoning_details: see [carried].
	case strings.Contains(name, "r1"): // DeepSeek R1 refuses its reasoning
	case is("deepseek", "deepseek"), is("moonshot", "kimi"), is("xiaomi", "mimo"):
		r.Send = Always
	case is("zhipu", "glm"):
		r.Send = WithinTurn
	}
	return r
}

// field returns the field for the reasoning of the message at index `i`; "" if the message is sent without reasoning. `turn` is the
// index of the last user message. `thinks` says whether any message has reasoning. A message with calls may have an empty reasoning,
// because providers check that the field is there.
func (r Reasoning) field(m llm.Message, f form, i, turn int, thinks bool) string {
	calls := len(m.ToolCalls) > 0
	switch {
	case m.Role != llm.Assistant || f.has(noReasoning) || m.Reasoning == "" && !calls:
		return ""
	case f.has(allReasoning) && calls:
		return r.Field
	case r.Send == Always && thinks, r.Send == WithinTurn && thinks && i > turn:
		return r.Field
	}
	return ""
}

// reasoningText returns the JSON form of the reasoning of a message. `family` is the [endpoint.Family] of the endpoint.
func reasoningText(m llm.Message, family string) json.RawMessage {
	text := m.Reasoning
	if endpoint.Line(family) == "kimi" {
		text = cmp.Or(text, noThought)
	}
	encoded, _ := endpoint.Encode(text) // cannot fail
	return encoded
}
