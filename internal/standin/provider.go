package standin

import (
	"net/url"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// Provider makes an [Endpoint] behave like one provider of OpenAI's chat completions API. It refuses requests that this provider
// refuses, with the provider's status and wording. It adds to the replies what this provider adds, for example the signature of a
// reasoning. It also checks that later requests send the additions back. [Gemini] and the other constructors return a Provider.
//
// [DeepSeek], [Kimi] and [MiniMax] have the Messages API, too. What they sent through one API, they know in the other.
//
// A Provider remembers what it sent. It is safe for concurrent use, and several Endpoints may share it. The additions to a reply
// depend only on the reply and on the body of the request, so a repeated request gets the same additions.
type Provider struct {
	// Reasoning makes the Provider treat every model as a reasoning model. If it is false, the name of the model decides. Only
	// [OpenAI] and [Azure] use it. Set it before the first request.
	Reasoning bool

	rules []rule
	// dress returns the reply with the additions of the provider. It must not modify the slices of the reply. nil means that the
	// provider adds nothing.
	dress func(p *Provider, r *posted, reply llm.Reply) llm.Reply
	// format changes the response before it is sent; nil means no change.
	format func(whole *completion)
	// problem returns the JSON body of an error response; nil means OpenAI's body.
	problem func(r *refusal) any
	// compatible is the provider's Messages API; nil means that this API is Anthropic's.
	compatible *compatible

	mu         sync.Mutex
	violations []string
	sent       map[string][]string // what the provider sent, by a key that the provider chooses
}

// rule checks a request. It returns nil or the error response.
type rule func(p *Provider, r *posted) *refusal

// Violations returns a description of each violation so far. A violation is a mistake in a request that the provider accepts,
// although the documentation of the provider forbids it. For example, a part of the model's reasoning is missing.
func (p *Provider) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

func (p *Provider) violation(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.violations = append(p.violations, text)
}

// remember records that the provider sent `value`. [Provider.memory] finds the value by `key`.
func (p *Provider) remember(key, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent == nil {
		p.sent = map[string][]string{}
	}
	if !slices.Contains(p.sent[key], value) {
		p.sent[key] = append(p.sent[key], value)
	}
}

// memory returns the values that [Provider.remember] recorded under `key`; nil if there are none. There may be several values,
// because different conversations may use the same key.
func (p *Provider) memory(key string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent[key])
}

// api returns the API for a request with the given URL. It returns `a` unchanged if `p` is nil or has no such API of its own.
func (p *Provider) api(a API, at *url.URL) API {
	switch {
	case p == nil:
	case a == Chat:
		return chat{provider: p, url: at}
	case a == Messages && p.compatible != nil:
		return messages{p}
	}
	return a
}

// refuse checks a request. It returns nil or the error response. If `p` is nil, it accepts each request.
func (p *Provider) refuse(r *posted) *refusal {
	if p == nil {
		return nil
	}
	for _, check := range p.rules {
		if refused := check(p, r); refused != nil {
			return refused
		}
	}
	return nil
}

// dressed returns the reply with the additions of the provider. An empty reply gets no additions, because it must stay empty.
func (p *Provider) dressed(r *posted, reply llm.Reply) llm.Reply {
	if p == nil || p.dress == nil || reply.Validate() != nil {
		return reply
	}
	reply.Message.ToolCalls = slices.Clone(reply.Message.ToolCalls)
	return p.dress(p, r, reply)
}
