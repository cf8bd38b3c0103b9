package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/callback"
)

// webServer serves HTTP at one address: callbacks, the health of the worker, or both. The caller must call [webServer.stop].
type webServer struct {
	listener net.Listener
	server   *http.Server
	mux      *http.ServeMux
}

// listen takes an address. Requests wait until [webServer.serve].
func listen(ctx context.Context, address string, log *slog.Logger) (*webServer, error) {
	s := &webServer{mux: http.NewServeMux()}
	var err error
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	s.server = &http.Server{
		Handler: s.mux, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		// An answer may take longer than its request, because the handler of callbacks waits for a worker: see [callback.Options].
		WriteTimeout:   30*time.Second + 2*callback.DefaultWait,
		MaxHeaderBytes: 16 << 10, // far below the 1 MB that net/http allows, because senders are unknown
	}
	return s, nil
}

// serve calls `fail` if the server ends with an error.
func (s *webServer) serve(fail func(error)) {
	go func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve HTTP at %s: %w", s.listener.Addr(), err))
		}
	}()
}

// stop waits for the requests that are being answered until the context ends. A second call has no effect. `s` may be nil.
func (s *webServer) stop(ctx context.Context) {
	if s == nil {
		return
	}
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
	s.listener.Close() // Shutdown does not know it before serve
}

// gate passes requests on between [gate.open] and [gate.close]. Before that, they wait. Afterwards, they are refused.
type gate struct {
	next   http.Handler
	opened chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newGate(next http.Handler) *gate { return &gate{next: next, opened: make(chan struct{})} }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.opened:
	case <-r.Context().Done():
		return
	}
	if !g.enter() {
		w.Header().Set("Retry-After", "5")
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "this worker stops; send the request again"})
		return
	}
	defer g.running.Done()
	g.next.ServeHTTP(w, r)
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

// close waits for the requests that have passed until the context ends.
func (g *gate) close(ctx context.Context) {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.running.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
