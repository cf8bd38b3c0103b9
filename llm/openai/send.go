package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// This file has what the two APIs of the client have in common: how a request is sent and how a response is opened.

// reader reads the body of a response. `a` has the status and the headers. `body` is the body, unpacked. The reader sets the time
// limits of `quiet`, from which `body` reads.
type reader func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) error

// send sends a request, calls `read` with the response and closes its body. An error of the connection is a [endpoint.LostError].
func (c *Client) send(r *http.Request, read reader) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	response, err := c.options.HTTPClient.Do(r.WithContext(ctx)) //nolint:gosec // the URL is configuration
	if err != nil {
		return nil, c.lost(ctx, endpoint.LostError{Err: err})
	}
	defer response.Body.Close()

	a := endpoint.Response{Status: response.StatusCode, Header: response.Header, At: time.Now()}
	quiet := endpoint.NewSilence(response.Body, cancel)
	if err := read(a, endpoint.Unpack(quiet), quiet); err != nil {
		return nil, c.lost(ctx, err)
	}
	return response, nil
}

// lost adds to an error of the connection why the context of the request has ended. Other errors stay as they are.
func (c *Client) lost(ctx context.Context, err error) error {
	if !errors.As(err, new(endpoint.LostError)) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, endpoint.ErrSilent):
		return endpoint.LostError{Err: fmt.Errorf("the endpoint sent nothing for %v: %w", c.options.IdleTimeout, cause)}
	case errors.Is(cause, endpoint.ErrTimeout):
		return endpoint.LostError{Err: cause}
	}
	return err
}

// setHeaders sets the headers of a request that do not depend on its API, and the query of its URL. `key` is the value of the Idempotency-Key header; it may
// be empty. `stream` says whether the request asks for a stream.
func (c *Client) setHeaders(r *http.Request, key string, stream bool) {
	if stream {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	if key != "" {
		// The name must be in lower case. With the canonical spelling, net/http may send the request again by itself when a
		// connection breaks, and most endpoints would process and bill the request twice.
		r.Header["idempotency-key"] = []string{key}
	}
	for name, value := range c.options.Headers {
		r.Header.Set(name, value)
	}
	if len(c.options.Query) > 0 {
		query := r.URL.Query()
		for name, value := range c.options.Query {
			query.Set(name, value)
		}
		r.URL.RawQuery = query.Encode()
	}
}

// readBody reads the body of a response that is not streamed. It returns the response with its body, or the error in it. `ended` must
// return an error if the context of the request has ended, and nil otherwise.
func readBody(a endpoint.Response, body io.Reader, ended func() error) (endpoint.Response, error) {
	encoded, err := endpoint.ReadLimited(body)
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.Status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, endpoint.ErrTooLarge) {
			return a, a.TooLarge()
		}
		return a, endpoint.LostError{Err: fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.Body = encoded
	return a, a.Failure()
}

// renewing returns a function that calls `tell` with a delta. It calls `renew` before and after, because the time that the listener
// takes does not count.
func renewing(renew func(), tell func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		renew()
		tell(d)
		renew()
	}
}
