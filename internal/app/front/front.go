// Package front is the server of `starter serve`: the gateway and its listeners in one process without state.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/reagent-dev/reagent/gateway"
	"github.com/reagent-dev/reagent/gateway/access"
)

// Options are the options of [New]. Gateway and Ready are required.
type Options struct {
	Gateway gateway.Options
	Access  access.Options
	// Listen is the address of the server, as host:port.
	Listen string
	// CertFile and KeyFile are for HTTPS; empty means HTTP.
	CertFile, KeyFile string
	// Ready returns an error if Temporal does not answer.
	Ready func(context.Context) error
	// WebUI is the address of Temporal's Web UI, for links; empty means none.
	WebUI string
	// Drain is the time that open requests get when the server ends. Defaults to 10 seconds. Then event streams end, and their clients go on at
	// another replica.
	Drain time.Duration
	Log   *slog.Logger
}

// Server is a gateway that listens. Create it with [New].
type Server struct {
	listener net.Listener
	server   *http.Server
	tls      *tls.Config
	drain    time.Duration
	draining atomic.Bool
	stop     context.CancelFunc // ends what requests do
}

// New makes the server listen. Connections wait until [Server.Serve]. The error wraps [access.ErrOpen] if everyone could use the agents.
func New(ctx context.Context, o Options) (*Server, error) {
	o.Access.OnError, o.Access.Log, o.Access.HTTPS = onError, o.Log, o.Access.HTTPS || o.CertFile != ""
	control, err := access.New(o.Access)
	if err != nil {
		return nil, err
	}
	s := &Server{drain: o.Drain}
	if s.drain == 0 {
		s.drain = 10 * time.Second
	}
	if o.CertFile != "" {
		if s.tls, err = access.TLS(o.CertFile, o.KeyFile, o.Log); err != nil {
			return nil, err
		}
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Listen); err != nil {
		return nil, err
	}
	if err := control.CheckListen(s.listener.Addr()); err != nil {
		_ = s.listener.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", health(func(context.Context) string { return "" }))
	mux.Handle("GET /readyz", health(func(ctx context.Context) string {
		if s.draining.Load() {
			return "the gateway is draining: it takes no new requests"
		}
		ctx, cancel := context.WithTimeout(ctx, readyTime)
		defer cancel()
		if o.Ready(ctx) != nil {
			return "Temporal does not answer"
		}
		return ""
	}))
	mux.Handle("/v1/", control.Handler(gateway.New(o.Gateway).Handler()))
	addPage(mux, control, o)
	s.server = access.NewServer(mux, access.ServerLimits{}, o.Log)
	base, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.server.BaseContext = func(net.Listener) context.Context { return base }
	return s, nil
}

// readyTime limits the time in which Temporal must answer a probe.
const readyTime = 2 * time.Second

// health answers a probe. `wrong` returns why the server does not do its work; "" if it does.
func health(wrong func(context.Context) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if reason := wrong(r.Context()); reason != "" {
			http.Error(w, reason, http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n")) // the client is gone
	})
}

// Address returns the host and the port at which the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve serves until ctx ends, and then drains: new connections are refused, and open requests get some time.
func (s *Server) Serve(ctx context.Context) error {
	defer s.stop()
	listener := s.listener
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	err := s.server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		s.stop() // event streams end
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err = s.server.Shutdown(last); err != nil {
			err = s.server.Close()
		}
	}
	return err
}
