// Package codecserver serves a payload codec by HTTP, for Temporal's Web UI and CLI.
package codecserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/loopback"
	"github.com/reagent-dev/reagent/internal/origin"
)

const (
	// maxBody limits a request. Temporal takes at most 4 MB in one call, and base64 adds a third.
	maxBody = 16 << 20
	// maxPayloads limits the payloads in a request. A history event has a few.
	maxPayloads = 4096
	// maxRequests limits the requests that are in memory at the same time. Others wait for up to maxWait.
	maxRequests = 16
	maxWait     = 10 * time.Second
	// requestTimeout limits the time to read a request, and the time to answer it.
	requestTimeout = 30 * time.Second
	// stopTimeout is how long requests may take to end when the server stops.
	stopTimeout = 5 * time.Second
)

// Options are the options of [New].
type Options struct {
	// Codec encodes and decodes. Required.
	Codec converter.PayloadCodec
	// Listen is the address, as host:port.
	Listen string
	// Origins are the origins of Web UIs, such as https://temporal.example.com. Pages of other origins are refused.
	Origins []string
	// Auth has the credentials that requests must have. Without any, the server listens on this machine only.
	Auth Auth
	// DecodeOnly refuses to encode.
	DecodeOnly bool
}

// Server is a codec server. Create it with [New].
type Server struct {
	listener net.Listener
	http     *http.Server
}

// ErrOpen says that a server would decode for everyone who can reach it.
var ErrOpen = errors.New("everyone who can reach this address could decode all payloads: give --auth-file or REAGENT_CODEC_AUTH, or listen at 127.0.0.1")

// CheckOrigins returns an error for an origin that no browser sends.
func CheckOrigins(origins []string) error {
	if err := origin.Check(origins); err != nil {
		return fmt.Errorf("--origin %w", err)
	}
	return nil
}

// New listens at the address. Requests wait until [Server.Serve]. It returns [ErrOpen] if there are no credentials and other machines can
// reach the address.
func New(ctx context.Context, o Options) (*Server, error) {
	if err := CheckOrigins(o.Origins); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; choose another address with --listen", o.Listen, err)
	}
	if len(o.Auth) == 0 && !loopback.Address(listener.Addr()) {
		return nil, errors.Join(ErrOpen, listener.Close())
	}
	return &Server{listener: listener, http: &http.Server{
		Handler: newHandler(o), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout,
		IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}}, nil
}

// Address returns the address at which the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve answers requests until the context ends. With the files of a certificate and its key, it speaks HTTPS.
func (s *Server) Serve(ctx context.Context, certFile, keyFile string) error {
	defer s.listener.Close()
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if s.http.Shutdown(ending) != nil {
			s.http.Close()
		}
	})
	defer stop()
	var err error
	if certFile != "" {
		err = s.http.ServeTLS(s.listener, certFile, keyFile)
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the codec: %w", err)
}

type handler struct {
	Options

	codec    http.Handler
	requests chan struct{}
}

func newHandler(o Options) http.Handler {
	h := &handler{Options: o, codec: converter.NewPayloadCodecHTTPHandler(o.Codec), requests: make(chan struct{}, maxRequests)}
	mux := http.NewServeMux()
	for _, path := range []string{"/encode", "/decode", "/{namespace}/encode", "/{namespace}/decode"} {
		mux.HandleFunc("POST "+path, h.serve)
		mux.HandleFunc("OPTIONS "+path, h.preflight)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	// A browser asks for a name and a password here, and sends them with the requests of the Web UI.
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if h.authenticated(w, r) {
			_, _ = io.WriteString(w, "This is a codec server for Temporal's Web UI and CLI.\n")
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// allowed refuses pages of other origins: any page in a browser can send requests to this machine.
func (h *handler) allowed(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case origin.Allow(w, r, h.Origins):
		w.Header().Set("Access-Control-Allow-Credentials", "true")
	case r.Header.Get("Origin") != "":
		http.Error(w, "pages of this origin may not use the codec server: start it with --origin and the address of the Web UI", http.StatusForbidden)
		return false
	}
	return true
}

// preflight answers a browser that asks whether a page may send a request.
func (h *handler) preflight(w http.ResponseWriter, r *http.Request) {
	if h.allowed(w, r) {
		origin.Preflight(w, r, "POST", "Authorization, Content-Type, X-Namespace")
	}
}

func (h *handler) authenticated(w http.ResponseWriter, r *http.Request) bool {
	if len(h.Auth) == 0 || h.Auth.accepts(r.Header.Get("Authorization")) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="codec server"`)
	http.Error(w, "the codec server needs the right Authorization: set TEMPORAL_CODEC_AUTH", http.StatusUnauthorized)
	return false
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	if !h.allowed(w, r) || !h.authenticated(w, r) {
		return
	}
	if h.DecodeOnly && strings.HasSuffix(r.URL.Path, "/encode") {
		http.Error(w, "this codec server only decodes", http.StatusForbidden)
		return
	}
	select {
	case h.requests <- struct{}{}:
		defer func() { <-h.requests }()
	case <-r.Context().Done():
		return
	case <-time.After(maxWait):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests at the same time", http.StatusTooManyRequests)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, fmt.Sprintf("the request has more than %d MiB", maxBody>>20), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
	case tooMany(body):
		http.Error(w, fmt.Sprintf("the request has more than %d payloads", maxPayloads), http.StatusRequestEntityTooLarge)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.codec.ServeHTTP(w, r)
	}
}

// tooMany reports whether a request has more payloads than maxPayloads, or metadata without bounds. It counts what base64 does not have, because
// the decoded form of many small payloads is much larger than their text.
func tooMany(body []byte) bool {
	const objects, fields = 2, 10 // of a payload, at most; with its metadata
	return bytes.Count(body, []byte("{")) > objects*maxPayloads+1 || bytes.Count(body, []byte(":")) > fields*maxPayloads+1
}
