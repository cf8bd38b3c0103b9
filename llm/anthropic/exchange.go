package anthropic

import (
	"bufio"
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

// exchange sends one request and reads the response. Anthropic's library uses the exchange as its HTTP client.
type exchange struct {
	client  *Client
	key     string // the value of the Idempotency-Key header; may be empty
	streams bool   // the request asks for a stream
	// renew is called with each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell is called with each delta of a streamed reply.
	tell func(llm.Delta)

	// done says that the exchange is over. Then answer is the reply, and err is the error.
	done   bool
	answer answer
	err    error
}

// Do sends a request that the library has built, and reads the reply into the field `answer`. If the response is not a reply, Do
// returns an [*llm.Error], and stores it in the field `err`. An error of the connection is an [endpoint.LostError]. The library gets
// a response without a body.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	x.answer, x.err = x.send(r)
	x.done = true
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// send sends the request and returns the reply.
func (x *exchange) send(r *http.Request) (answer, error) {
	x.prepare(r)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	response, err := x.client.options.HTTPClient.Do(r.WithContext(ctx)) //nolint:gosec // the URL is configuration
	if err != nil {
		return answer{}, x.lost(ctx, endpoint.LostError{Err: err})
	}
	defer response.Body.Close()

	a := endpoint.Response{Status: response.StatusCode, Header: response.Header, At: time.Now()}
	quiet := endpoint.NewSilence(response.Body, cancel)
	body := endpoint.Unpack(quiet)
	var reply answer
	if a.Status < http.StatusMultipleChoices && isStream(a.Header, body) {
		reply, err = x.readStream(a, body, quiet)
	} else {
		reply, err = readWhole(a, body, r.Context().Err)
	}
	if err != nil {
		return answer{}, x.lost(ctx, err)
	}
	return reply, nil
}

// prepare sets the headers and the query of a request.
func (x *exchange) prepare(r *http.Request) {
	if x.streams {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	if x.key != "" {
		// The name must be in lower case. With the canonical spelling, net/http may send the request again by itself when a
		// connection breaks, and most endpoints would process and bill the request twice.
		r.Header["idempotency-key"] = []string{x.key}
	}
	for name, value := range x.client.options.Headers {
		r.Header.Set(name, value)
	}
	if len(x.client.options.Query) > 0 {
		query := r.URL.Query()
		for name, value := range x.client.options.Query {
			query.Set(name, value)
		}
		r.URL.RawQuery = query.Encode()
	}
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
func readWhole(a endpoint.Response, body io.Reader, ended func() error) (answer, error) {
	encoded, err := endpoint.ReadLimited(body)
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.Status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, endpoint.ErrTooLarge) {
			return answer{}, a.TooLarge()
		}
		return answer{}, endpoint.LostError{Err: fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.Body = encoded
	if err := a.Failure(); err != nil {
		return answer{}, err
	}
	var reply message
	if err := json.Unmarshal(encoded, &reply); err != nil {
		return answer{}, a.Bad(endpoint.Messages, err)
	}
	if reply.Type != "message" && len(reply.Content) == 0 {
		if err := a.Foreign(endpoint.Messages); err != nil {
			return answer{}, err
		}
	}
	return reply.answer(), nil
}

// isStream reports whether a response is an event stream. The first bytes of the body are more important than the Content-Type
// header, because some endpoints send errors and complete replies with the Content-Type of a stream, or streams with another one.
func isStream(header http.Header, body *bufio.Reader) bool {
	for n := 1; ; n++ {
		start, err := body.Peek(n)
		start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
		more := err == nil && n < body.Size()
		switch {
		case len(start) == 0 && more:
			continue
		case bytes.HasPrefix(start, []byte("{")) || bytes.HasPrefix(start, []byte("<")):
			return false
		case strings.HasPrefix(header.Get("Content-Type"), "text/event-stream"):
			return true
		case bytes.HasPrefix(start, []byte("event:")) || bytes.HasPrefix(start, []byte("data:")):
			return true
		case more && (strings.HasPrefix("event:", string(start)) || strings.HasPrefix("data:", string(start))):
			continue
		}
		return false
	}
}
