package openai

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// maxReply is the length of the longest response that the client accepts, in bytes.
const maxReply = 8 << 20

// errTooLarge is the error for a response that is longer than [maxReply].
var errTooLarge = fmt.Errorf("the response is longer than %d MiB", maxReply>>20)

// exchange sends one request and reads the response. The library go-openai uses the exchange as its HTTP client. The exchange
// rewrites each request, because go-openai cannot write all the fields that requests need. It rewrites each response, because
// go-openai cannot decode the responses of all endpoints.
type exchange struct {
	client *Client
	key    string                     // the value of the Idempotency-Key header; may be empty
	fields map[string]json.RawMessage // fields of the body that go-openai does not write
	form   form
	tools  []llm.ToolSpec // the tools that the request offers
	// tell is called with each delta of a streamed reply.
	tell func(llm.Delta)
}

// lostError is the error for a failed connection or an incomplete response.
type lostError struct{ err error }

func (e lostError) Error() string { return e.err.Error() }
func (e lostError) Unwrap() error { return e.err }

// Do rewrites the body of a request of go-openai and sends the request. If the response is a completion, Do returns the
// completion in the form that go-openai can decode. Do converts a stream into one complete response. Any other response
// becomes an [*llm.Error] or an [*unreadCall]. An error of the connection becomes a [lostError].
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	if err := x.prepare(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	response, err := x.client.options.HTTPClient.Do(r.WithContext(ctx)) //nolint:gosec // the URL is configuration
	if err != nil {
		return nil, lostError{err}
	}
	defer response.Body.Close()

	a := answer{status: response.StatusCode, header: response.Header, at: time.Now()}
	quiet := newSilence(response.Body, cancel)
	body := unpack(quiet)
	var reply completion
	if a.status < http.StatusMultipleChoices && streams(a.header, body) {
		reply, err = x.readStream(a, body, quiet)
	} else {
		reply, err = a.readWhole(body, r.Context().Err)
	}
	if err != nil {
		if lost := (lostError{}); errors.As(err, &lost) && errors.Is(context.Cause(ctx), errSilent) {
			err = lostError{fmt.Errorf("the endpoint sent nothing for %v: %w", x.client.options.IdleTimeout, errSilent)}
		}
		return nil, err
	}
	rewritten, err := reply.rewrite()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(rewritten))
	return response, nil
}

// readWhole reads a response that is not streamed. `ended` must return an error if the context of the request has ended, and
// nil otherwise.
func (a answer) readWhole(body io.Reader, ended func() error) (completion, error) {
	encoded, err := readLimited(body)
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, errTooLarge) {
			return completion{}, a.tooLarge()
		}
		return completion{}, lostError{fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.body = encoded
	if err := a.failure(); err != nil {
		return completion{}, err
	}
	var reply completion
	if err := json.Unmarshal(encoded, &reply); err != nil {
		return completion{}, a.bad(err)
	}
	if len(reply.Choices) == 0 {
		return reply, a.foreign()
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
	rewritten, err := rewriteRequest(encoded, x.form.fields(x.fields))
	if err != nil {
		return err
	}
	if x.form != plain {
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

// unpack returns a reader for the body of a response. The reader decompresses a gzip body even if the headers of the response
// do not say that the body is compressed.
func unpack(body io.Reader) *bufio.Reader {
	in := bufio.NewReader(body)
	if start, _ := in.Peek(1); !bytes.Equal(start, []byte("\x1f")) {
		return in // this waits for one byte only, because more bytes of a stream may come much later
	}
	if start, _ := in.Peek(2); !bytes.Equal(start, []byte("\x1f\x8b")) {
		return in
	}
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return in
	}
	return bufio.NewReader(unpacked)
}

// readLimited reads up to [maxReply] bytes of a body. If the body is longer, it returns these bytes and [errTooLarge].
func readLimited(body io.Reader) ([]byte, error) {
	whole, err := io.ReadAll(io.LimitReader(body, maxReply+1))
	if err == nil && len(whole) > maxReply {
		return whole[:maxReply], errTooLarge
	}
	return whole, err
}
