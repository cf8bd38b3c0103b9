package endpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Sender sends the requests of a client. Its fields are the client's options with the same names. It is safe for concurrent use.
type Sender struct {
	HTTPClient     *http.Client
	IdleTimeout    time.Duration
	Headers, Query map[string]string
}

// NewHTTPClient returns an HTTP client that returns a redirect response instead of following it. By default, net/http follows many
// redirects of a POST with a GET, and the error of that GET would be misleading.
func NewHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32 // the agents of one worker send many requests to few hosts
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Prepare sets the headers and the query of a request. `key` is the value of the Idempotency-Key header; it may be empty. `stream`
// says whether the request asks for a stream.
func (s Sender) Prepare(r *http.Request, key string, stream bool) {
	if stream {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	if key != "" {
		// The name must be in lower case. With the canonical spelling, net/http may send the request again by itself when a
		// connection breaks, and most endpoints would process and bill the request twice.
		r.Header["idempotency-key"] = []string{key}
	}
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
	if len(s.Query) > 0 {
		query := r.URL.Query()
		for name, value := range s.Query {
			query.Set(name, value)
		}
		r.URL.RawQuery = query.Encode()
	}
}

// Reader is a function that reads the body of a response. `a` has the status and the headers. `body` is the decompressed body, which
// reads from `quiet`. The function sets the time limits of `quiet`.
type Reader func(a Response, body *bufio.Reader, quiet *Silence) error

// Send sends a request and calls `read` with the response. It closes the body of the response. It returns the error of `read`, or a
// [LostError] if there is no response. If the context has ended with [ErrSilent] or [ErrTimeout], a LostError wraps this cause.
func (s Sender) Send(r *http.Request, read Reader) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	response, err := s.HTTPClient.Do(guard(r.WithContext(ctx))) //nolint:gosec // the URL is configuration
	if err != nil {
		return s.lost(ctx, LostError{Err: err})
	}
	defer response.Body.Close()

	a := Response{Status: response.StatusCode, Header: response.Header, At: time.Now()}
	quiet := NewSilence(response.Body, cancel)
	return s.lost(ctx, read(a, Unpack(quiet), quiet))
}

// guard returns a copy of the request with a [guarded] body. GetBody gets one, too, because the transport uses it to send the request on
// another connection if the first one breaks before anything was written.
func guard(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	check, again := llm.Guard(r.Context()), r.GetBody
	r.Body = &guarded{ReadCloser: r.Body, guard: check}
	if again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &guarded{ReadCloser: body, guard: check}, err
		}
	}
	return r
}

// guarded is a request body that calls the guard at the first Read, when there is a connection and before any byte of the body is sent:
// see [llm.WithGuard]. If the guard returns an error, Read returns it, and the transport ends the request. The endpoint then has the
// headers at most.
type guarded struct {
	io.ReadCloser
	guard func() error
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.guard != nil {
		if err := g.guard(); err != nil {
			return 0, err
		}
		g.guard = nil
	}
	return g.ReadCloser.Read(p)
}

// lost makes a [LostError] say why the client ended the request, if the cause of `ctx` is [ErrSilent] or [ErrTimeout]. It returns any
// other error unchanged.
func (s Sender) lost(ctx context.Context, err error) error {
	if !errors.As(err, new(LostError)) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrSilent):
		return LostError{Err: fmt.Errorf("the endpoint sent nothing for %v: %w", s.IdleTimeout, cause)}
	case errors.Is(cause, ErrTimeout):
		return LostError{Err: cause}
	}
	return err
}

// ReadBody reads the body of a response that is not streamed. It returns `a` with the body. The error is the one that the response contains
// (see [Response.Failure]), the one of [Response.TooLarge], or a [LostError] if the body is incomplete. With an error status, the length of
// the body counts only if the context of the request has ended. `ended` must return an error if this context has ended, and nil otherwise.
func ReadBody(a Response, body io.Reader, ended func() error) (Response, error) {
	encoded, err := ReadLimited(body)
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.Status < http.StatusMultipleChoices || ended() != nil) {
		if errors.Is(err, ErrTooLarge) {
			return a, a.TooLarge()
		}
		return a, LostError{Err: fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.Body = encoded
	return a, a.Failure()
}
