package standin

import (
	"cmp"
	"net/url"

	"github.com/reagent-dev/reagent/llm"
)

// chat is OpenAI's chat completions API, or a provider's variant of it.
type chat struct {
	provider *Provider // nil means OpenAI's API without the rules of a [Provider]
	url      *url.URL  // the URL of the request; nil if there is no provider
}

func (c chat) read(body []byte, lenient bool) (asked, *refusal) {
	wire, refused := readRequest(body)
	if refused == nil && !lenient {
		if refused = wire.check(); refused == nil {
			refused = c.provider.refuse(newPosted(wire, body, c.url))
		}
	}
	req := wire.request()
	if c.provider != nil {
		for i, m := range wire.Messages {
			req.Messages[i].Reasoning = m.reasoning()
		}
	}
	return asked{req, wire.Model, wire.Stream, wire.StreamOptions.IncludeUsage}, refused
}

// A dresser is an API whose provider adds something to the replies.
type dresser interface {
	// dress returns the reply with the additions of the provider, which depend on the body of the request.
	dress(body []byte, reply llm.Reply) llm.Reply
}

var _, _ dresser = chat{}, messages{}

func (c chat) dress(body []byte, reply llm.Reply) llm.Reply {
	if c.provider == nil {
		return reply
	}
	wire, _ := readRequest(body)
	return c.provider.dressed(newPosted(wire, body, c.url), reply)
}

func (c chat) body(model string, reply llm.Reply) any { return c.completion(model, reply) }

func (c chat) completion(model string, reply llm.Reply) completion {
	whole := completionOf(model, reply)
	if c.provider != nil && c.provider.format != nil {
		c.provider.format(&whole)
	}
	return whole
}

func (c chat) events(model string, reply llm.Reply, usage bool, cut cutter) []event {
	var all []event
	for _, data := range events(c.completion(model, reply), usage, cut) {
		all = append(all, event{data: data})
	}
	return all
}

func (chat) Sent(req llm.Request) llm.Request { return req }

func (chat) Received(reply llm.Reply) llm.Reply { return reply }

func (chat) finish() string { return `"finish_reason":"` }

func (c chat) problem(r *refusal) any {
	if r.body != nil {
		return r.body
	}
	if c.provider != nil && c.provider.problem != nil {
		return c.provider.problem(r)
	}
	return errorBody{errorObject{
		Message: r.message,
		Type:    cmp.Or(r.kind, "invalid_request_error"),
		Param:   orNull(r.param),
		Code:    orNull(r.code),
	}}
}
