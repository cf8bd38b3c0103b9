package standin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// OpenRouter returns a [Provider] that behaves like OpenRouter.
//
// Each reply has the reasoning in the member `reasoning` and, as a list, in `reasoning_details`. If the name of the model contains "gpt",
// the list has a summary and encrypted data, as from OpenAI. For other models it has a text with a signature, as from Anthropic. A stream
// has the list in fragments.
//
// Later requests should send the list back on the same message, with each text whole again:
//   - A missing list is a violation: see [Provider.Violations].
//   - If the list in the reply had a signature, a changed list is refused, as by Anthropic. If it had none, a changed list is a violation.
//   - The indexes that come back are not checked, because in a stream the index of each encrypted entry or summary is 0, even if there are
//     several.
//
// Sources: OpenRouter's guide "Reasoning Tokens", agno-agi/agno#8794 and OpenRouterTeam/ai-sdk-provider#519 for streams and refusals,
// tailcallhq/forgecode#1359 for the body of a refusal.
func OpenRouter() *Provider {
	return &Provider{rules: []rule{openRouterDetails}, dress: detailed, format: openRouterReasoning, problem: openRouterProblem}
}

// detailed adds the list `reasoning_details` to a reply. A reply that already has such a list keeps it.
func detailed(p *Provider, r *posted, reply llm.Reply) llm.Reply {
	m := &reply.Message
	m.Reasoning = r.thought(reply)
	if members(m.Opaque.Data)[detailsName] == nil {
		include(&m.Opaque, detailsName, detailsOf(r, *m))
	}
	p.remember("details "+key(*m), canonical(members(m.Opaque.Data)[detailsName]))
	return reply
}

func detailsOf(r *posted, m llm.Message) []map[string]any {
	seal := fmt.Sprintf("seal+/%s%016x==", r.digest, digest(encoded(m)))
	if !strings.Contains(r.Model, "gpt") {
		return []map[string]any{{"type": "reasoning.text", "text": m.Reasoning, "signature": seal, "format": "anthropic-claude-v1", "index": 0}}
	}
	second := 1
	if r.Stream {
		second = 0
	}
	return []map[string]any{
		{"type": "reasoning.summary", "summary": m.Reasoning, "format": "openai-responses-v1", "index": 0},
		{"type": "reasoning.encrypted", "data": seal, "id": "rs_" + r.digest, "format": "openai-responses-v1", "index": second},
	}
}

// openRouterReasoning moves the reasoning to the member `reasoning`, which OpenRouter uses.
func openRouterReasoning(whole *completion) {
	said := &whole.Choices[0].Message
	said.Thought, said.Reasoning = said.Reasoning, ""
}

// openRouterDetails checks that the lists `reasoning_details` come back unchanged: see [OpenRouter].
func openRouterDetails(p *Provider, r *posted) *refusal {
	for i, wire := range r.Messages {
		m := wire.message()
		sent := p.memory("details " + key(m))
		list := r.each[i][detailsName]
		switch found := canonical(list); {
		case m.Role != llm.Assistant || sent == nil || slices.Contains(sent, found):
		case list == nil:
			p.violation(fmt.Sprintf("messages[%d]: the reasoning_details are missing", i))
		case strings.Contains(sent[0], `"signature"`):
			raw := fmt.Sprintf("{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.%d.content.0: Invalid `signature` in `thinking` block\"}}", i)
			return &refusal{status: http.StatusBadRequest, body: map[string]any{"error": map[string]any{
				"message": "Provider returned error", "code": http.StatusBadRequest,
				"metadata": map[string]any{"raw": raw, "provider_name": "Anthropic"},
			}}}
		default:
			p.violation(fmt.Sprintf("messages[%d]: the reasoning_details are changed", i))
		}
	}
	return nil
}

func openRouterProblem(r *refusal) any {
	return map[string]any{"error": map[string]any{"message": r.message, "code": r.status}}
}
