package llmtest

import (
	"cmp"

	"github.com/reagent-dev/reagent/llm"
)

// chat is OpenAI's chat completions API.
type chat struct{}

func (chat) read(body []byte, lenient bool) (asked, *refusal) {
	wire, refused := readRequest(body)
	if refused == nil && !lenient {
		refused = wire.check()
	}
	return asked{wire.request(), wire.Model, wire.Stream, wire.StreamOptions.IncludeUsage}, refused
}

func (chat) body(model string, reply llm.Reply) any { return completionOf(model, reply) }

func (chat) events(model string, reply llm.Reply, usage bool, cut cutter) []event {
	var all []event
	for _, data := range events(completionOf(model, reply), usage, cut) {
		all = append(all, event{data: data})
	}
	return all
}

func (chat) requests(req llm.Request) llm.Request { return req }

func (chat) replies(reply llm.Reply) llm.Reply { return reply }

func (chat) finish() string { return `"finish_reason":"` }

func (chat) problem(r *refusal) any {
	return errorBody{errorObject{
		Message: r.message,
		Type:    cmp.Or(r.kind, "invalid_request_error"),
		Param:   orNull(r.param),
		Code:    orNull(r.code),
	}}
}
