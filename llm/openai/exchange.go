package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// exchange sends one request and reads the response. The library go-openai uses the exchange as its HTTP client. The exchange
// rewrites each request, because go-openai cannot write all the fields that requests need. It rewrites each response, because
// go-openai cannot decode the responses of all endpoints.
type exchange struct {
	client *Client
	key    string                     // the value of the Idempotency-Key header; may be empty
	fields map[string]json.RawMessage // fields of the body that go-openai does not write
	form   form
	tools  []llm.ToolSpec // the tools that the request offers
	// messages are the messages of the request, one for each message that go-openai writes.
	messages []llm.Message
	writer   writer
	// reply is the reply that was read. It has what go-openai does not decode.
	reply completion
	// renew is called with each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell is called with each delta of a streamed reply.
	tell func(llm.Delta)
}

// Do rewrites the body of a request of go-openai and sends the request. If the response is a completion, Do returns the
// completion in the form that go-openai can decode. Do converts a stream into one complete response. Any other response
// becomes an [*llm.Error] or an [*endpoint.UnreadCall]. An error of the connection becomes a [endpoint.LostError].
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	if err := x.prepare(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	response, err := x.client.options.HTTPClient.Do(r.WithContext(ctx)) //nolint:gosec // the URL is configuration
	if err != nil {
		return nil, x.lost(ctx, endpoint.LostError{Err: err})
	}
	defer response.Body.Close()

	a := endpoint.Response{Status: response.StatusCode, Header: response.Header, At: time.Now()}
	quiet := endpoint.NewSilence(response.Body, cancel)
	body := endpoint.Unpack(quiet)
	var reply completion
	if a.Status < http.StatusMultipleChoices && streams(a.Header, body) {
		reply, err = x.readStream(a, body, quiet)
	} else {
		reply, err = readWhole(a, body, r.Context().Err)
	}
	if err != nil {
		return nil, x.lost(ctx, err)
	}
	x.reply = reply
	rewritten, err := reply.rewrite()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(rewritten))
	return response, nil
}

// lost adds to an error of the connection why the context of the request has ended. Other errors stay as they are.
func (x *exchange) lost(ctx context.Context, err error) error {
	if !errors.As(err, new(endpoint.LostError)) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, endpoint.ErrSilent):
		return endpoint.LostError{Err: fmt.Errorf("the endpoint sent nothing for %v: %w", x.client.options.IdleTimeout, cause)}
	case errors.Is(cause, endpoint.ErrTimeout):
		return endpoint.LostError{Err: cause}
	}
	return err
}

// readWhole reads a response that is not streamed. `ended` must return an error if the context of the request has ended, and
// nil otherwise.
func readWhole(a endpoint.Response, body io.Reader, ended func() error) (completion, error) {
	encoded, err := endpoint.ReadLimited(body)
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.Status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, endpoint.ErrTooLarge) {
			return completion{}, a.TooLarge()
		}
		return completion{}, endpoint.LostError{Err: fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.Body = encoded
	if err := a.Failure(); err != nil {
		return completion{}, err
	}
	var reply completion
	if err := json.Unmarshal(encoded, &reply); err != nil {
		return completion{}, a.Bad(endpoint.Chat, err)
	}
	if len(reply.Choices) == 0 {
		return reply, a.Foreign(endpoint.Chat)
	}
	return reply, nil
}

// offers reports whether the request offers a tool whose name begins with a text, and whether it offers one whose name is the text.
func (x *exchange) offers(name string) (begins, is bool) {
	for _, t := range x.tools {
		begins, is = begins || strings.HasPrefix(t.Name, name), is || t.Name == name
	}
	return begins, is
}

// prepare rewrites the body of a request that go-openai has built, and sets the headers.
func (x *exchange) prepare(r *http.Request) error {
	encoded, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	rewritten, err := x.writer.rewrite(encoded, x.form.fields(x.fields), x.messages)
	if err != nil {
		return err
	}
	if len(x.client.options.Query) > 0 {
		query := r.URL.Query()
		for name, value := range x.client.options.Query {
			query.Set(name, value)
		}
		r.URL.RawQuery = query.Encode()
	}
	if !x.form.has(noStream) {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	r.Body = io.NopCloser(bytes.NewReader(rewritten))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(rewritten)), nil }
	r.ContentLength = int64(len(rewritten))

	if x.key != "" {
		// The name must be in lower case. With the canonical spelling, net/http may send the request again by itself when a
		// connection breaks, and most endpoints would process and bill the request twice.
		r.Header["idempotency-key"] = []string{x.key}
	}
	for name, value := range x.client.options.Headers {
		r.Header.Set(name, value)
	}
	return nil
}
