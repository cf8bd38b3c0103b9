package anthropic

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// exchange sends one request and reads the response. Anthropic's library uses the exchange as its HTTP client.
type exchange struct {
	client  *Client
	key     string // the value of the Idempotency-Key header; may be empty
	streams bool   // the request asks for a stream
	// renew is called for each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell receives each delta of a streamed reply.
	tell func(llm.Delta)

	// done says that Do has returned. Then `answer` is the reply, or `err` is the error.
	done   bool
	answer answer
	err    error
}

// Do sends a request that the library has built, and reads the reply into the field `answer`. It returns a response without a
// body to the library. Do also stores its error in the field `err`. If the response is not a reply, the error is an [*llm.Error].
// If the connection fails, the error is an [endpoint.LostError].
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	x.answer, x.err = x.send(r)
	x.done = true
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// send sends the request and returns the reply.
func (x *exchange) send(r *http.Request) (reply answer, err error) {
	x.client.Sender.Prepare(r, x.key, x.streams)
	err = x.client.Sender.Send(r, func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) (err error) {
		if a.Status < http.StatusMultipleChoices && endpoint.IsStream(a.Header, body) {
			reply, err = x.readStream(a, body, quiet)
		} else {
			reply, err = readWhole(a, body, r.Context().Err)
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
