package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/redact"
)

const (
	// sessionHeader and protocolHeader are the HTTP headers of MCP's streamable HTTP transport.
	sessionHeader  = "Mcp-Session-Id"
	protocolHeader = "Mcp-Protocol-Version"
	// maxErrorBody is the number of bytes that are read from the body of a response with a status other than 2xx.
	maxErrorBody = 64 << 10
	// maxResumes is how often the SDK resumes a broken event stream, if the server supports this. Resuming a stream requests
	// the rest of the response; it does not send the call again.
	maxResumes = 3
)

// errTooLarge is the error for an HTTP response with [maxMessage] bytes or more. Such a response is not read to its end.
var errTooLarge = errors.New("the response is longer than 16 MiB")

// The caller must pass the MCP protocol version to [roundTripper.negotiated] as soon as it is negotiated.
func newHTTPTransport(s Server, censor *redact.Redactor) (*sdk.StreamableClientTransport, *roundTripper) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = s.TLS.Clone()
	// An idle connection is closed after 30 seconds, before the server closes it. If the server closed it while a call is sent over
	// it, the outcome of the call would be unknown.
	base.IdleConnTimeout = 30 * time.Second
	rt := &roundTripper{base: base, server: s, censor: censor}
	return &sdk.StreamableClientTransport{
		Endpoint:             s.URL,
		HTTPClient:           &http.Client{Transport: rt, CheckRedirect: sameServer},
		MaxRetries:           maxResumes,
		MaxEventSize:         maxMessage,
		DisableStandaloneSSE: true,
	}, rt
}

// The method, the scheme and the host must stay the same, as in a redirect from /mcp to /mcp/: another server must not get the configured
// headers.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// roundTripper sends the HTTP requests for the SDK. It adds the configured headers to each request. It records in the request's
// [delivery] what happened to the request.
type roundTripper struct {
	base     *http.Transport
	server   Server
	censor   *redact.Redactor
	protocol atomic.Pointer[string] // the negotiated protocol version; nil before it is known
}

// The version goes into a header of the following requests.
func (t *roundTripper) negotiated(version string) { t.protocol.Store(&version) }

// RoundTrip implements [http.RoundTripper]: it sends one HTTP request and returns the response.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, d := req.Context(), deliveryFrom(req.Context())
	if req.Method != http.MethodPost {
		d = nil // a GET in the context of a call resumes the stream of its response
	}
	if d != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			// net/http calls GetConn again only if the server did not process the previous attempt. This would not be true for
			// a POST with an Idempotency-Key header, so [Server.withDefaults] refuses this header.
			GetConn: func(string) { d.update(func(s *deliveryState) { s.sent = false }) },
			GotConn: func(httptrace.GotConnInfo) { d.update(func(s *deliveryState) { s.sent = true }) },
		})
	}
	headers, err := t.headers(ctx, nil)
	if err != nil {
		d.update(func(s *deliveryState) { s.credential = err })
		return nil, err
	}
	resp, err := t.send(req.Clone(ctx), headers)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && t.varies(ctx) && (req.Body == nil || req.GetBody != nil) {
		var credentialErr error
		if resp, credentialErr, err = t.again(req.Clone(ctx), resp, headers); credentialErr != nil {
			d.update(func(s *deliveryState) { s.credential = credentialErr })
			err = credentialErr
		}
	}
	if err != nil {
		return nil, err
	}
	callerFrom(ctx).note(resp.StatusCode)
	d.update(func(s *deliveryState) {
		s.status = resp.StatusCode
		s.inSession = req.Header.Get(sessionHeader) != ""
	})
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return turnedAway(resp, d), nil
	}
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType != "text/event-stream" {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxMessage, delivery: d}
	}
	return resp, nil
}

// varies reports whether a request has a credential that may change.
func (t *roundTripper) varies(ctx context.Context) bool {
	return t.server.Credential != nil || callerFrom(ctx) != nil
}

// headers returns the headers for a request: the configured ones, and the token of the caller for whom it is sent. `refused` are those that the server has just refused; nil if there are none.
func (t *roundTripper) headers(ctx context.Context, refused *map[string]string) (map[string]string, error) {
	c := callerFrom(ctx)
	if c == nil {
		return t.configured(ctx, refused)
	}
	own, err := t.configured(ctx, nil)
	if err != nil {
		return nil, err
	}
	return c.headers(ctx, own, refused)
}

func (t *roundTripper) configured(ctx context.Context, refused *map[string]string) (map[string]string, error) {
	if t.server.Credential == nil {
		return t.server.Headers, nil
	}
	got, err := t.server.Credential(ctx, refused)
	if err != nil {
		return nil, fmt.Errorf("get the credential: %w", err)
	}
	if err := checkHeaders(got); err != nil {
		return nil, err
	}
	t.censor.Add(headerSecrets(got)...)
	all := maps.Clone(got)
	for name, value := range t.server.Headers {
		if _, ok := got[name]; !ok {
			all[name] = value
		}
	}
	return all, nil
}

// again sends a request again if the server has refused its credential and there is another one. If not, it returns the response.
// `credentialErr` says that the source of the credential failed.
func (t *roundTripper) again(req *http.Request, refusal *http.Response, refused map[string]string) (resp *http.Response, credentialErr, err error) {
	headers, err := t.headers(req.Context(), &refused)
	if err != nil {
		refusal.Body.Close()
		return nil, err, nil
	}
	if maps.Equal(headers, refused) {
		return refusal, nil, nil
	}
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return refusal, nil, nil //nolint:nilerr // the refusal is the answer
		}
	}
	refusal.Body.Close()
	resp, err = t.send(req, headers)
	return resp, nil, err
}

func (t *roundTripper) send(req *http.Request, headers map[string]string) (*http.Response, error) {
	for name, value := range headers {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	if version := t.protocol.Load(); version != nil && req.Header.Get(protocolHeader) == "" {
		req.Header.Set(protocolHeader, *version)
	}
	return t.base.RoundTrip(req)
}

// turnedAway handles an HTTP response with a status other than 2xx. If the body is a JSON-RPC error, turnedAway records the
// error in the delivery `d`. The body of the returned response has at most [maxErrorBody] bytes.
func turnedAway(resp *http.Response, d *delivery) *http.Response {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	// The SDK would not decode this body: the response has a null ID, which the SDK refuses.
	var answer struct {
		Version string         `json:"jsonrpc"`
		Error   *jsonrpc.Error `json:"error"`
	}
	if exact.Decode(body, &answer, exact.Foreign) == nil && answer.Version == "2.0" {
		d.update(func(s *deliveryState) { s.failure = answer.Error })
	}
	return resp
}

// boundedBody is a response body with a maximum size. When the maximum is reached, [boundedBody.Read] returns [errTooLarge] and
// records in the [delivery] that the response is too large.
type boundedBody struct {
	io.ReadCloser
	left     int       // the number of bytes that may still be read
	delivery *delivery // may be nil
}

// Read implements [io.Reader]. It returns [errTooLarge] when the maximum size is reached.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.delivery.update(func(s *deliveryState) { s.tooLarge = true })
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
