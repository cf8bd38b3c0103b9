package standin

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// thinkBlock matches a reasoning at the beginning of a text.
var thinkBlock = regexp.MustCompile(`(?s)^\s*<think>.*?</think>\s*`)

// MiniMax returns a [Provider] that behaves like MiniMax M2.
//
// The content of each reply begins with the reasoning in <think>…</think>. Later requests should send the whole content back
// unchanged. If the body of a request has "reasoning_split":true, the reply has the reasoning in the list `reasoning_details`
// instead, and later requests should send the list back. A reasoning that is missing or changed is a violation.
//
// Its Messages API has thinking blocks with a signature instead. They should come back, too, and nothing is refused without them.
//
// Sources: MiniMax's pages "Tool Use & Interleaved Thinking", "Compatible OpenAI API" and "Compatible Anthropic API".
func MiniMax() *Provider {
	return &Provider{rules: []rule{miniMaxThought}, dress: interleaved, compatible: &compatible{sign: hashed, signStream: hashed}}
}

// miniMaxKey returns the key of a message for [Provider.remember]. The reasoning in the content has no influence.
func miniMaxKey(m llm.Message) string {
	m.Content = thinkBlock.ReplaceAllString(m.Content, "")
	return key(m)
}

// interleaved adds the reasoning to a reply, in the form that the request asks for: see [MiniMax].
func interleaved(p *Provider, r *posted, reply llm.Reply) llm.Reply {
	m, thought := &reply.Message, r.thought(reply)
	at := miniMaxKey(*m)
	m.Reasoning = ""
	if string(r.fields["reasoning_split"]) == "true" {
		list := []any{map[string]any{"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0, "text": thought}}
		include(&m.Opaque, detailsName, list)
		p.remember(at, canonical(compact(list)))
		return reply
	}
	m.Content = "<think>\n" + thought + "\n</think>\n\n" + m.Content
	p.remember(at, m.Content)
	return reply
}

// miniMaxThought records a violation for each assistant message whose reasoning is missing or changed.
func miniMaxThought(p *Provider, r *posted) *refusal {
	for i, wire := range r.Messages {
		m := wire.message()
		sent := p.memory(miniMaxKey(m))
		if m.Role != llm.Assistant || sent == nil || slices.Contains(sent, m.Content) || slices.Contains(sent, canonical(r.each[i][detailsName])) {
			continue
		}
		problem := "missing"
		if thinkBlock.MatchString(m.Content) || r.each[i][detailsName] != nil {
			problem = "changed"
		}
		p.violation(fmt.Sprintf("messages[%d]: the reasoning is %s", i, problem))
	}
	return nil
}
