package standin

import (
	"slices"
	"strings"
)

// grokEfforts are beginnings of the names of the models that have a reasoning effort.
var grokEfforts = []string{"grok-3-mini", "grok-4.20-multi-agent", "grok-4.3", "grok-4.5", "grok-4.6"}

// Grok returns a [Provider] that behaves like xAI.
//   - No model takes `presence_penalty` or `frequency_penalty`, and reasoning models take no `stop`.
//   - Only some models take `reasoning_effort`.
//
// Nothing must go back with the messages of a chat completion.
//
// Sources: xAI's page "Reasoning", omnigent-ai/omnigent#1686 and earendil-works/pi#8381 for the effort, miaoxworld/NativeTavern#83 for the
// wording and for models without reasoning, yym68686/uni-api#105 for the body.
func Grok() *Provider { return &Provider{rules: []rule{grokParameters}, problem: grokProblem} }

func grokParameters(_ *Provider, r *posted) *refusal {
	var refused string
	switch {
	case r.fields["presence_penalty"] != nil:
		refused = "presencePenalty"
	case r.fields["frequency_penalty"] != nil:
		refused = "frequencyPenalty"
	case r.fields["stop"] != nil && !strings.Contains(r.Model, "non-reasoning"):
		refused = "stop"
	case r.ReasoningEffort != "" && !slices.ContainsFunc(grokEfforts, func(begin string) bool { return strings.HasPrefix(r.Model, begin) }):
		refused = "reasoningEffort"
	default:
		return nil
	}
	return invalid("", "Model %s does not support parameter %s.", r.Model, refused)
}

func grokProblem(r *refusal) any {
	return map[string]any{"code": "Client specified an invalid argument", "error": r.message}
}
