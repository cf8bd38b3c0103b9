package standin

import (
	"fmt"
	"strings"
)

// cerebrasUnknown are members of a body that Cerebras refuses.
var cerebrasUnknown = []string{"enable_thinking", "frequency_penalty", "logit_bias", "presence_penalty", "reasoning", "service_tier", "thinking"}

// Cerebras returns a [Provider] that behaves like Cerebras.
//   - It takes no `response_format` beside tools.
//   - It refuses unknown members of the body, such as `enable_thinking`, and `reasoning_content` in messages.
//   - A reply has its reasoning in `reasoning`. Requests may have it there, but need not.
//
// Sources: Cerebras' pages "Structured Outputs", "Reasoning" and "OpenAI Compatibility"; proxysoul/Empryo#209 for the members that are
// refused, Kilo-Org/kilocode#10375 for the wording and the body. Some fields of [cerebrasUnknown] are only in the page about compatibility.
func Cerebras() *Provider {
	return &Provider{rules: []rule{cerebrasKnows, cerebrasFormat}, format: openRouterReasoning, problem: cerebrasProblem}
}

func cerebrasKnows(_ *Provider, r *posted) *refusal {
	var faults []string
	unknown := func(at string) { faults = append(faults, fmt.Sprintf("%s: property '%s' is unsupported", at, at)) }
	for _, name := range cerebrasUnknown {
		if r.fields[name] != nil {
			unknown("body." + name)
		}
	}
	for i, m := range r.each {
		if m["reasoning_content"] != nil {
			unknown(fmt.Sprintf("messages.%d.%s.reasoning_content", i, r.Messages[i].Role))
		}
	}
	if faults == nil {
		return nil
	}
	return invalid("validation_error", "%s", strings.Join(faults, "\n"))
}

func cerebrasFormat(_ *Provider, r *posted) *refusal {
	if r.outputFormat() == "" || len(r.Tools) == 0 {
		return nil
	}
	return invalid("", `"tools" is incompatible with "response_format"`)
}

func cerebrasProblem(r *refusal) any {
	code := r.code
	if code == "" {
		code = "wrong_api_format"
	}
	return map[string]any{"message": r.message, "type": kindOf(r), "param": orNull(r.param), "code": code}
}
