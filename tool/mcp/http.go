package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// errTooLarge means that an HTTP response has maxMessage bytes or more and was not read to its end.
var errTooLarge = errors.New("the response is longer than 16 MiB")

// newHTTPTransport returns the transport for a server with a URL. It also returns the round tripper of this transport. As soon
// as the protocol version is negotiated, the caller must pass it to [roundTripper.negotiated].
func newHTTPTransport(s Server) (*sdk.StreamableClientTransport, *roundTripper) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	// An idle connection is closed after 30 seconds. Otherwise the server might close the connection while a call is sent
	// over it, and the outcome of the call would be unknown.
	base.IdleConnTimeout = 30 * time.Second
	rt := &roundTripper{base: base, headers: s.Headers}
	return &sdk.StreamableClientTransport{
		Endpoint:             s.URL,
		HTTPClient:           &http.Client{Transport: rt, CheckRedirect: sameServer},
		MaxRetries:           maxResumes,
		MaxEventSize:         maxMessage,
		DisableStandaloneSSE: true,
	}, rt
}

// sameServer is the CheckRedirect function of the HTTP client: it decides whether the client follows a redirect. The client
// follows a redirect that keeps the method, the scheme and the host, such as a redirect from /mcp to /mcp/. It follows at most
// 3 of them. Another server must not get the configured headers.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// roundTripper sends the HTTP requests for the SDK. It adds the configured headers to each request. In the request's
// [delivery], it records what happened to the request.
type roundTripper struct {
	base     *http.Transport
	headers  map[string]string
	protocol atomic.Pointer[string] // the negotiated protocol version; nil before it is known
}

// negotiated sets the protocol version that the headers of the following requests contain.
func (t *roundTripper) negotiated(version string) { t.protocol.Store(&version) }

// RoundTrip implements [http.RoundTripper].
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
	req = req.Clone(ctx)
	for name, value := range t.headers {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	if version := t.protocol.Load(); version != nil && req.Header.Get(protocolHeader) == "" {
		req.Header.Set(protocolHeader, *version)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
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

// turnedAway handles a response with a status other than 2xx. If the body has a JSON-RPC error, turnedAway records the error in
// d. It returns the response with the body cut to maxErrorBody bytes.
func turnedAway(resp *http.Response, d *delivery) *http.Response {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	// The SDK would not decode this body: the response has a null ID, which the SDK refuses.
	var answer struct {
		Version string         `json:"jsonrpc"`
		Error   *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Version == "2.0" {
		d.update(func(s *deliveryState) { s.failure = answer.Error })
	}
	return resp
}

// boundedBody is a response body with a size limit. After the limit is reached, Read returns errTooLarge and sets tooLarge in
// the delivery.
type boundedBody struct {
	io.ReadCloser
	left     int       // the number of bytes that may still be read
	delivery *delivery // may be nil
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.delivery.update(func(s *deliveryState) { s.tooLarge = true })
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
