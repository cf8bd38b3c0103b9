package openai

import (
	"context"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// The Responses API is the second API of the client. The client uses it without state in the endpoint: each request has the whole
// conversation, and the field `store` is false.
//
//	llm.Request → responses_request.go, responses_input.go                      → endpoint
//	llm.Reply   ← responses_reply.go ← responses_item.go, responses_assembly.go ← endpoint
//
// The items of a reply that the endpoint needs back are in [llm.Message.Opaque]; see responses_opaque.go. The types of go-openai are
// used for the parts of requests that they can express. They cannot express the whole request, because they omit `strict` if it is
// false, omit empty arguments, and store the temperature as float32. They cannot decode values of unexpected types.

// askResponses sends one request in the given form to the Responses API and returns the reply. `renew` is called for each part of a
// streamed reply: see [endpoint.WithTimeout].
func (c *Client) askResponses(ctx context.Context, renew func(), model string, req llm.Request, form form) (llm.Reply, error) {
	body, err := responsesRequest(model, req, form, c.responsesFamily(model))
	if err != nil {
		return llm.Reply{}, err
	}
	reply := responseAssembly{tell: llm.Stream(ctx), renew: renew}
	if err := c.post(ctx, "/responses", body, req, form, &reply); err != nil {
		return recovered(err, req)
	}
	return reply.response().reply(req, c.responsesFamily(model))
}

// responsesFamily returns the value of [llm.Opaque.Family] for the replies of a model. It names the provider and the line of the model,
// because an endpoint can decrypt only the reasoning of its own models. The prefix keeps the data apart from that of chat completions.
func (c *Client) responsesFamily(model string) string {
	return "responses:" + endpoint.Family(c.Host, model)
}
