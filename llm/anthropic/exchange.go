package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// version is the version of the API, which each request names.
const version = "2023-06-01"

type exchange struct {
	client  *Client
	key     string // the value of the Idempotency-Key header; may be empty
	streams bool   // the request asks for a stream
	// renew is called for each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell receives each delta of a streamed reply.
	tell func(llm.Delta)
}

// send sends a request with the given body and returns the reply. If the response is not a reply, the error is an [*llm.Error]. If the
// connection fails, the error is an [endpoint.LostError].
func (x *exchange) send(ctx context.Context, body []byte) (reply answer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.client.BaseURL+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", version)
	if x.client.APIKey != "" {
		r.Header.Set("X-Api-Key", x.client.APIKey)
	}
	x.client.Sender.Prepare(r, x.key, x.streams)
	err = x.client.Sender.Send(r, func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) (err error) {
		if a.Status < http.StatusMultipleChoices && endpoint.IsStream(a.Header, body) {
			reply, err = x.readStream(a, body, quiet)
		} else {
			reply, err = readWhole(a, body, ctx.Err)
		}
		return err
	})
	return reply, err
}

// readWhole reads a response that is not streamed. `ended` must return an error if the context of the request has ended, and
// nil otherwise.
func readWhole(a endpoint.Response, body io.Reader, ended func() error) (answer, error) {
	a, err := endpoint.ReadBody(a, body, ended)
	if err != nil {
		return answer{}, err
	}
	var reply message
	if err := json.Unmarshal(a.Body, &reply); err != nil {
		return answer{}, a.Bad(endpoint.Messages, err)
	}
	if reply.Type != "message" && len(reply.Content) == 0 {
		if err := a.Foreign(endpoint.Messages); err != nil {
			return answer{}, err
		}
	}
	return reply.answer(), nil
}
