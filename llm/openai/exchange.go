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
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// maxReply limits what is read of one answer, in bytes.
const maxReply = 8 << 20

// errTooLarge is returned by read for an answer longer than maxReply.
var errTooLarge = fmt.Errorf("the answer is longer than %d MiB", maxReply>>20)

// exchange is one request and its answer on the wire. It stands where the
// library expects an HTTP client, so that the library writes and reads exactly
// what it can, and this type the rest.
type exchange struct {
	client *Client
	key    string
	fields map[string]json.RawMessage
	form   form
	// tell is told the pieces of a streamed reply.
	tell func(llm.Delta)
}

// lostError is a failure of the way to the endpoint or back.
type lostError struct{ err error }

func (e lostError) Error() string { return e.err.Error() }
func (e lostError) Unwrap() error { return e.err }

// Do sends the library's request, rewritten, and returns a successful answer,
// rewritten: whole, and in one form, however it came. Any other answer is
// returned as an [*llm.Error].
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
			err = lostError{fmt.Errorf("nothing came for %v: %w", x.client.options.IdleTimeout, errSilent)}
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

// readWhole reads an answer that came at once. ended reports whether the request
// has ended.
func (a answer) readWhole(body io.Reader, ended func() error) (completion, error) {
	encoded, err := readLimited(body)
	// The status of a failure counts even when its body does not arrive whole.
	if err != nil && (a.status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, errTooLarge) {
			return completion{}, a.tooLarge()
		}
		return completion{}, lostError{fmt.Errorf("the answer was cut short: %w", err)}
	}
	a.body = encoded
	if err := a.failure(); err != nil {
		return completion{}, err
	}
	var reply completion
	if err := json.Unmarshal(encoded, &reply); err != nil {
		return completion{}, a.bad(err)
	}
	return reply, nil
}

// prepare rewrites the body of the library's request and adds the headers.
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
		// In lower case on purpose: net/http takes the canonical spelling as leave
		// to send the request again by itself when a connection breaks, and most
		// endpoints would answer, and bill, it twice.
		r.Header["idempotency-key"] = []string{x.key}
	}
	for name, value := range x.client.options.Headers {
		r.Header.Set(name, value)
	}
	return nil
}

// unpack returns a body to read from. One that is gzip without saying so is
// unpacked.
func unpack(body io.Reader) *bufio.Reader {
	in := bufio.NewReader(body)
	if start, _ := in.Peek(1); !bytes.Equal(start, []byte("\x1f")) {
		return in // waits for one byte only: a stream may begin with little
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

// readLimited returns what fits, and errTooLarge when that is not all.
func readLimited(body io.Reader) ([]byte, error) {
	whole, err := io.ReadAll(io.LimitReader(body, maxReply+1))
	if err == nil && len(whole) > maxReply {
		return whole[:maxReply], errTooLarge
	}
	return whole, err
}
