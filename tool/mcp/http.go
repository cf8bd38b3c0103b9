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
	sessionHeader  = "Mcp-Session-Id"
	protocolHeader = "Mcp-Protocol-Version"
	// maxErrorBody bounds what is read of a response that is not a success.
	maxErrorBody = 64 << 10
	// maxResumes is how often a broken stream of answers is taken up again where the
	// server supports that. It asks for the answer, not for the call.
	maxResumes = 3
)

var errTooLarge = errors.New("the answer is too large")

// newHTTPTransport makes the transport to a server with a URL. Its round tripper
// hears of the negotiated protocol version.
func newHTTPTransport(s Server) (*sdk.StreamableClientTransport, *roundTripper) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	// A connection that the server may be about to close is better not used: a call
	// that meets its end has an unknown outcome.
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

// sameServer follows a redirect of the same request within the server, such as
// to /mcp/, and no other: the headers are not for anyone else.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// roundTripper adds the server's headers and records what becomes of a call.
//
// net/http sends a POST again only when nothing of it was written, unless an
// Idempotency-Key makes it look repeatable; so that header is never sent.
type roundTripper struct {
	base     *http.Transport
	headers  map[string]string
	protocol atomic.Pointer[string]
}

func (t *roundTripper) negotiated(version string) { t.protocol.Store(&version) }

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, d := req.Context(), deliveryFrom(req.Context())
	if req.Method != http.MethodPost {
		d = nil // a GET in the context of a call resumes the stream of its answer
	}
	if d != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			// A new attempt is made only when the last one left nothing behind.
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

// turnedAway records the error that a response may carry, and bounds its body.
func turnedAway(resp *http.Response, d *delivery) *http.Response {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	// Not decoded by the SDK, which refuses the null ID of such an answer.
	var answer struct {
		Version string         `json:"jsonrpc"`
		Error   *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Version == "2.0" {
		d.update(func(s *deliveryState) { s.failure = answer.Error })
	}
	return resp
}

// boundedBody fails once it has given as many bytes as it may.
type boundedBody struct {
	io.ReadCloser
	left     int
	delivery *delivery
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.delivery.update(func(s *deliveryState) { s.tooLarge = true })
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
