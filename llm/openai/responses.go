package openai

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/reagent-dev/reagent/llm"
)

// The values of [Options.API].
const (
	chatAPI      = "chat"
	responsesAPI = "responses"
)

// The Responses API is the second API of the client. The client uses it without state in the endpoint: each request has the whole
// conversation, and the field `store` is false.
//
//	llm.Request → responses_request.go, responses_input.go → endpoint
//	llm.Reply   ← responses_reply.go ← responses_item.go, responses_stream.go ←
//
// The items of a reply that the endpoint needs back are in [llm.Message.Opaque]; see responses_opaque.go. The types of go-openai are
// used for the parts of requests that they can express. They cannot express the whole request, because they omit `strict` if it is
// false, omit empty arguments, and store the temperature as float32. They cannot decode values of unexpected types.

// askResponses sends one request to the Responses API and returns the reply. `stream` says whether to request a stream. `renew` is
// called with each part of a streamed reply: see [endpoint.WithTimeout].
//
// If the endpoint refuses the [replay] of reasoning, askResponses sends the request again without it. This is not a retry in the sense
// of [llm.Client], because the model has not seen the refused request.
func (c *Client) askResponses(ctx context.Context, renew func(), model string, req llm.Request, stream bool) (llm.Reply, error) {
	how := replay{family: c.responsesFamily(), encrypted: true}
	if _, refused := c.unencrypted.Load(model); refused {
		how = replay{}
	}
	for {
		reply, err := c.askResponsesWith(ctx, renew, model, req, stream, how)
		next, refused := how.after(err)
		if !refused {
			if err == nil && !how.encrypted {
				c.unencrypted.Store(model, true)
			}
			return reply, err
		}
		how = next
	}
}

// askResponsesWith is like askResponses, but it sends the request only once.
func (c *Client) askResponsesWith(ctx context.Context, renew func(), model string, req llm.Request, stream bool, how replay) (llm.Reply, error) {
	body, err := responsesRequest(model, req, stream, how)
	if err != nil {
		return llm.Reply{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.BaseURL+"/responses", bytes.NewReader(body))
	if err != nil {
		return llm.Reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.options.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+c.options.APIKey)
	}
	c.setHeaders(r, req.Key, stream)

	x := responsesExchange{client: c, tell: renewing(renew, llm.Stream(ctx)), renew: renew}
	if _, err := c.send(r, x.read(r.Context().Err)); err != nil {
		return recovered(err, req)
	}
	return x.reply.reply(req, c.responsesFamily())
}

// responsesFamily returns the family of the client in [llm.Opaque]. Encrypted reasoning is bound to the account, so another host
// refuses it.
func (c *Client) responsesFamily() string { return "responses:" + c.host }

// replay says which parts of earlier replies a request sends back. The zero value sends only their text and calls.
type replay struct {
	// family is the family whose opaque data is sent back; empty means that none is sent.
	family string
	// encrypted requests the encrypted reasoning of the reply, so that a later request can send it back.
	encrypted bool
}

var (
	// namesInclude matches the refusal of models without reasoning ("Encrypted content is not supported with this model."), and of
	// endpoints that do not know the field `include`.
	namesInclude = regexp.MustCompile(`(?i)encrypted content is not supported|reasoning\.encrypted_content|\(include\)|'include|"include|\binclude: `)
	// namesReasoning matches the refusals of reasoning that is sent back. The endpoint may be unable to decrypt it, for example because
	// the API key belongs to another account now.
	namesReasoning = regexp.MustCompile(`(?i)encrypted content .*could not be (?:verified|decrypted)|invalid_encrypted_content|` +
		`without its required (?:following|'reasoning') item|items are not persisted`)
)

// after decides whether to send a request again with less of earlier replies. `err` is the error of the request; nil if it succeeded.
func (how replay) after(err error) (replay, bool) {
	var told *llm.Error
	if !errors.As(err, &told) || told.Class != llm.InvalidRequest && told.Class != llm.NotFound && told.Class != llm.BadReply {
		return how, false
	}
	switch {
	case how.encrypted && namesInclude.MatchString(told.Message):
		return replay{}, true
	case how.family != "" && namesReasoning.MatchString(told.Message):
		return replay{encrypted: how.encrypted}, true
	}
	return how, false
}
