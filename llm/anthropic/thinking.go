package anthropic

import (
	"cmp"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// thinking is the field `thinking` of a request. Newer models decide by themselves how much they think (`adaptive`), and the effort is
// a hint for them. Older models need a budget (`enabled`).
type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

// minBudget is the smallest thinking budget that the API accepts.
const minBudget = 1024

// budgets has a thinking budget for each effort, in tokens.
var budgets = map[string]int{"minimal": minBudget, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 49152}

// none is the [llm.Params.ReasoningEffort] that turns thinking off.
const none = "none"

// thinking returns the value of the field `thinking`. If it is nil, the field is not sent, and the default of the model applies.
// `maxTokens` is the output limit of the request, which includes the budget. `unsigned` is the result of [conversation.unsigned].
func (f form) thinking(req llm.Request, maxTokens int, unsigned bool) *thinking {
	effort := req.Params.ReasoningEffort
	// The API refuses thinking if the tool choice forces a call.
	forced := forces(req) && !f.unforced
	switch {
	case effort == none || forced && f.silent || f.mute:
		if f.undisabled {
			return nil
		}
		return &thinking{Type: "disabled"}
	case effort == "" || forced || f.thoughtless || f.bare:
		return nil
	case !f.budgeted && f.undisplayed:
		return &thinking{Type: "adaptive"}
	case !f.budgeted:
		// Without `display`, newer models send thinking without its text.
		return &thinking{Type: "adaptive", Display: "summarized"}
	}
	budget := min(cmp.Or(budgets[effort], budgets["medium"]), maxTokens/2) // the other half is for the answer
	if budget < minBudget || unsigned {
		return nil
	}
	return &thinking{Type: "enabled", BudgetTokens: budget}
}

// forces reports whether the tool choice of a request forces the model to call a tool.
func forces(req llm.Request) bool {
	return len(req.Tools) > 0 && !slices.Contains([]string{"", "auto", "none"}, req.Params.ToolChoice)
}

// effort returns the value of the field `output_config.effort`; "" if the field is not sent. With a thinking budget, the field is not sent,
// because most models that need a budget refuse it. The API has no effort "minimal", so "low" replaces it.
func (f form) effort(p llm.Params) string {
	effort := p.ReasoningEffort
	switch {
	case effort == none || f.effortless || f.budgeted || f.mute:
		return ""
	case effort == "minimal":
		return "low"
	case f.lowered && topEffort(effort):
		return "high"
	}
	return effort
}

// topEffort reports whether an effort is above "high". Only some models support such an effort.
func topEffort(effort string) bool {
	return effort == "xhigh" || effort == "max"
}

// sampling returns the values of the fields `temperature` and `top_p`; nil if a field is not sent. With thinking, the API accepts
// only a `temperature` of 1, and a `top_p` of 0.95 or more.
func (f form) sampling(p llm.Params, t *thinking) (temperature, topP *float64) {
	temperature, topP = p.Temperature, p.TopP
	thinks := t != nil && t.Type != "disabled"
	if f.untempered || thinks && temperature != nil && *temperature != 1 {
		temperature = nil
	}
	if f.unsampled || thinks && topP != nil && *topP < 0.95 {
		topP = nil
	}
	return temperature, topP
}
