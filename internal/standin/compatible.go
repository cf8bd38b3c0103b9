package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// compatible says how a provider's Messages API differs from Anthropic's. Each reply has thinking, unless the body of the request has
// "thinking":{"type":"disabled"}. Signatures are not verified. If the thinking of one of the provider's own messages is missing or changed
// in a later request, and the request is accepted, this is a violation. All other checks are Anthropic's, though some of these providers
// ignore what Anthropic refuses.
type compatible struct {
	// rule returns the refusal of an assistant message; nil if it is accepted. `i` is the index of the message, `calls` says whether it has
	// calls, and `thought` is its thinking; nil if it has none. rule is not called if the request turns the thinking off. It may be nil.
	rule func(r *posted, i int, calls bool, thought *string) *refusal
	// sign and signStream return the signature of a thinking block in a whole and in a streamed reply; "" if it has none.
	sign, signStream func(thinking string) string
	// problem returns the JSON body of an error response; nil means Anthropic's body.
	problem func(r *refusal) any
}

// dress returns the reply with the thinking that the provider adds.
func (a messages) dress(body []byte, reply llm.Reply) llm.Reply {
	if a.provider == nil || reply.Validate() != nil {
		return reply
	}
	return thoughtful(a.provider, newPosted(&request{}, body, nil), reply)
}

// refuseThoughts checks the thinking of the assistant messages in a request. `r` has the members of its body.
func (p *Provider) refuseThoughts(wire *messagesRequest, r *posted) *refusal {
	if !r.thinks() {
		return nil
	}
	for i, t := range wire.Messages {
		if t.Role != string(llm.Assistant) {
			continue
		}
		m, thought := t.Content.message(llm.Assistant), t.Content.thought()
		if p.compatible.rule != nil {
			if refused := p.compatible.rule(r, i, len(m.ToolCalls) > 0, thought); refused != nil {
				return refused
			}
		}
		switch sent := p.memory(key(m)); {
		case sent == nil:
		case thought == nil:
			p.violation(fmt.Sprintf("messages[%d]: the thinking is missing", i))
		case !slices.Contains(sent, *thought):
			p.violation(fmt.Sprintf("messages[%d]: the thinking is not the one that was sent", i))
		}
	}
	return nil
}

// thought returns the text of the first thinking block; nil if there is none.
func (c textOrBlocks) thought() *string {
	for _, b := range c {
		if b.Type == "thinking" {
			return b.Thinking
		}
	}
	return nil
}

// unsigned is a [compatible.sign] of a provider that does not sign its thinking.
func unsigned(string) string { return "" }

// hashed is a [compatible.sign] whose signatures Anthropic does not accept.
func hashed(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return hex.EncodeToString(sum[:])
}
