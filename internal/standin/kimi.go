package standin

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Kimi returns a [Provider] that behaves like Kimi K2.6 in thinking mode.
//   - Each reply has a reasoning in `reasoning_content`.
//   - In a request, each assistant message with calls must have this member. Its text must not be empty, and should be the text
//     that the Provider sent.
//   - With "thinking":{"keep":"all"} in the body, each assistant message must have the member, and its text may be empty.
//   - A body with "thinking":{"type":"disabled"} turns the thinking off.
//   - While the model thinks, a `tool_choice` that forces a call is refused.
//   - The cached tokens are in the member `cached_tokens` of the usage.
//
// Sources: Moonshot's guide to thinking models. The wordings are those in the issues labring/FastGPT#6357 and
// MoonshotAI/kimi-cli#2498, and for `tool_choice` in UKGovernmentBEIS/inspect_ai#5152. The pull request theopenco/llmgateway#2093 reports
// that an empty text is refused.
//
// Its Messages API has the same rules for thinking blocks, and the same wordings: see the issues farion1231/cc-switch#3351 and
// NousResearch/hermes-agent#17057. It signs its thinking, but does not verify signatures: see NousResearch/hermes-agent#66948.
func Kimi() *Provider {
	return &Provider{rules: []rule{kimiThought, kimiChoice}, dress: thoughtful, format: kimiUsage, problem: kimiProblem, compatible: &compatible{
		rule: kimiBlock, sign: hashed, signStream: hashed,
	}}
}

// kimiBlock checks the thinking of an assistant message by the rules of [Kimi].
func kimiBlock(r *posted, i int, calls bool, thought *string) *refusal {
	found := thought != nil
	return kimiRefusal(r, i, calls, found, found && *thought == "")
}

// kimiThought checks the reasoning of the assistant messages by the rules of [Kimi].
func kimiThought(p *Provider, r *posted) *refusal {
	if !r.thinks() {
		return nil
	}
	for i, m := range r.Messages {
		if m.Role != "assistant" {
			continue
		}
		thought, found := r.text(i, "reasoning_content")
		if refused := kimiRefusal(r, i, len(m.ToolCalls) > 0, found, thought == ""); refused != nil {
			return refused
		}
		if sent := p.memory(key(m.message())); found && sent != nil && !slices.Contains(sent, thought) {
			p.violation(fmt.Sprintf("messages[%d]: the reasoning_content is not the one that was sent", i))
		}
	}
	return nil
}

// kimiRefusal returns the refusal of assistant message number `i`; nil if it is accepted. `calls` says whether the message has calls, `found`
// whether it has a reasoning, and `empty` whether that is an empty text.
func kimiRefusal(r *posted, i int, calls, found, empty bool) *refusal {
	var thinking struct {
		Keep string `json:"keep"`
	}
	_ = json.Unmarshal(r.fields["thinking"], &thinking)
	switch {
	case thinking.Keep == "all" && !found:
		return invalid("", "preserved thinking (thinking.keep=all) requires reasoning_content on every assistant message, but assistant message at index %d is missing reasoning_content", i)
	case thinking.Keep == "all" || !calls:
	case !found || empty:
		return invalid("", "thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
	}
	return nil
}

// kimiChoice refuses a forced call while the model thinks.
func kimiChoice(_ *Provider, r *posted) *refusal {
	switch choice := r.toolChoice(); {
	case !r.thinks() || slices.Contains([]string{"", "auto", "none"}, choice):
		return nil
	case choice == "required":
		return invalid("", "tool_choice 'required' is incompatible with thinking enabled")
	}
	return invalid("", "tool_choice 'specified' is incompatible with thinking enabled")
}

// kimiUsage moves the number of cached tokens to the top level of the usage.
func kimiUsage(whole *completion) {
	whole.Usage.CachedTokens, whole.Usage.Prompt = &whole.Usage.Prompt.CachedTokens, nil
}

func kimiProblem(r *refusal) any {
	return map[string]any{"error": map[string]any{"message": r.message, "type": kindOf(r)}}
}
