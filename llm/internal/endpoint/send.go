package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// NewHTTPClient returns an HTTP client that returns a redirect response instead of following it. By default, net/http follows many
// redirects of a POST with a GET, and the error of that GET would be misleading. `config` may be nil.
func NewHTTPClient(config *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config.Clone()
	transport.MaxIdleConnsPerHost = 32 // the agents of one worker send many requests to few hosts
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Request is a request of a client to its endpoint.
type Request struct {
	// Path is added to the base URL.
	Path string
	// Header has the headers that the client's API requires.
	Header map[string]string
	// KeyHeader is the header with the API key, and KeyPrefix what stands before the key.
	KeyHeader, KeyPrefix string
	Body                 []byte
	// Key is the value of the Idempotency-Key header; it may be empty.
	Key string
	// Stream says whether the request asks for a stream.
	Stream bool
	// Events returns the events of a stream in another encoding than server-sent events; nil for a response that is no such stream. The
	// field may be nil.
	Events func(header http.Header, body *bufio.Reader) Source
	// Denied is a status with which the endpoint refuses a credential that has expired, beside 401; 0 if there is none.
	Denied int
}

// http returns the request with all headers and the query.
func (r Request) http(ctx context.Context, baseURL string, c llm.Credential) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("Content-Type", "application/json")
	if r.Stream {
		out.Header.Set("Accept", "text/event-stream, application/json")
	}
	if r.Key != "" {
		// The name must be in lower case. With the canonical spelling, net/http may send the request again by itself when a
		// connection breaks, and most endpoints would process and bill the request twice.
		out.Header["idempotency-key"] = []string{r.Key}
	}
	for name, value := range r.Header {
		out.Header.Set(name, value)
	}
	if c.APIKey != "" {
		out.Header.Set(r.KeyHeader, r.KeyPrefix+c.APIKey)
	}
	for name, value := range c.Headers {
		out.Header.Set(name, value)
	}
	if len(c.Query) > 0 {
		query := out.URL.Query()
		for name, value := range c.Query {
			query.Set(name, value)
		}
		out.URL.RawQuery = query.Encode()
	}
	return out, nil
}

// Send sends a request, and gives the response to `reply`, streamed or not. It returns the error of `reply`, the error that the response
// contains (see [Response.Failure]), the one of [Response.TooLarge], or a [LostError] if there is no complete response. If the context has
// ended with [ErrSilent] or [ErrTimeout], a LostError wraps this cause.
//
// If the endpoint refuses a credential of [Settings.Credential], Send repeats the request with the next one: see [llm.CredentialSource].
func (b *Base) Send(ctx context.Context, request Request, reply Reply) error {
	c, err := b.credential(ctx, nil)
	if err != nil {
		return err
	}
	err = b.send(ctx, request, c, reply)
	told, ok := errors.AsType[*llm.Error](err)
	if b.Credential == nil || !ok || told.Status != http.StatusUnauthorized && (told.Status != request.Denied || request.Denied == 0) {
		return err
	}
	next, failed := b.credential(ctx, &c)
	switch {
	case failed != nil:
		return failed
	case next.Equal(c):
		return err
	}
	return b.send(ctx, request, next, reply)
}

func (b *Base) send(ctx context.Context, request Request, c llm.Credential, reply Reply) error {
	r, err := request.http(ctx, b.BaseURL, c)
	if err != nil {
		return err
	}
	sent, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, err := b.HTTPClient.Do(guard(r.WithContext(sent)))
	if err != nil {
		return b.lost(sent, LostError{Err: err})
	}
	defer response.Body.Close()

	a := Response{Status: response.StatusCode, Header: response.Header, At: time.Now()}
	quiet := &Silence{body: response.Body, cancel: cancel}
	body := Unpack(quiet)
	if events := request.events(a, body); events != nil {
		err = readStream(a, events, quiet, b.IdleTimeout, reply)
	} else if a, err = readBody(ctx, a, body); err == nil {
		err = reply.Whole(a)
	}
	return b.lost(sent, err)
}

// events returns the events of a response; nil if the response is not a stream.
func (r Request) events(a Response, body *bufio.Reader) Source {
	if a.Status >= http.StatusMultipleChoices {
		return nil
	}
	if r.Events != nil {
		if events := r.Events(a.Header, body); events != nil {
			return events
		}
	}
	if IsStream(a.Header, body) {
		return &Events{in: body}
	}
	return nil
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
func (b *Base) lost(ctx context.Context, err error) error {
	if !errors.As(err, new(LostError)) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrSilent):
		return LostError{Err: fmt.Errorf("the endpoint sent nothing for %v: %w", b.IdleTimeout, cause)}
	case errors.Is(cause, ErrTimeout):
		return LostError{Err: cause}
	}
	return err
}

// readBody reads the body of a response that is not streamed. It returns `a` with this body. A body that is cut off or too large is an error.
// But if the response has an error status, readBody returns the part of the body that has arrived. It does so only as long as `ctx`, the
// context of the request, has not ended.
func readBody(ctx context.Context, a Response, body io.Reader) (Response, error) {
	encoded, err := io.ReadAll(io.LimitReader(body, MaxReply+1))
	if err == nil && len(encoded) > MaxReply {
		encoded, err = encoded[:MaxReply], ErrTooLarge
	}
	// If the status is an error status, an incomplete body does not matter, because the status determines the class of the
	// error.
	if err != nil && (a.Status < http.StatusMultipleChoices || ctx.Err() != nil) {
		if errors.Is(err, ErrTooLarge) {
			return a, a.TooLarge()
		}
		return a, LostError{Err: fmt.Errorf("the response is incomplete: %w", err)}
	}
	a.Body = encoded
	return a, a.Failure()
}
