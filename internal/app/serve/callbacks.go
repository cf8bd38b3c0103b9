package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/callback"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
)

// callbackStop limits how long a worker that stops waits for results that are still arriving.
const callbackStop = 5 * time.Second

// `flag` is the value of the flag --listen. The result is "" if the worker accepts no results.
func listenAddress(c *config.Callbacks, flag string) (string, error) {
	switch {
	case c == nil && flag != "" && flag != "none":
		return "", errors.New("--listen needs callbacks with a url and a secret in the configuration; add them, or leave out --listen")
	case c == nil || flag == "none":
		return "", nil
	}
	return cmp.Or(flag, c.Listen), nil
}

type callbackServer struct {
	listener net.Listener
	server   *http.Server
	path     string
}

// newCallbackServer listens at an address. Requests wait until [callbackServer.start]. The caller must call [callbackServer.stop].
func newCallbackServer(
	ctx context.Context, address string, c config.Callbacks, temporal client.Client, dc converter.DataConverter, log *slog.Logger,
) (*callbackServer, error) {
	secret, old, err := c.ResolveSecrets()
	if err != nil {
		return nil, fmt.Errorf("callbacks: %w", err)
	}
	handler, err := callback.New(agents.New(temporal, "").WithConverter(dc), callback.Options{Secret: secret, OldSecrets: old, Log: log})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("callbacks.url is not a URL; write one such as https://agents.example.com/callbacks")
	}
	s := &callbackServer{path: strings.TrimRight(u.Path, "/")}
	mux := http.NewServeMux()
	mux.Handle(s.path+"/{token}", handler)
	mux.HandleFunc("/", noCallback)
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return nil, fmt.Errorf("callbacks: listen at %s: %w; choose another address with callbacks.listen or --listen, or accept no results here with --listen none",
			address, err)
	}
	s.server = &http.Server{
		Handler: mux, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		// An answer may take longer than its request, because the handler waits for a worker: see [callback.Options].
		WriteTimeout:   30*time.Second + 2*callback.DefaultWait,
		MaxHeaderBytes: 16 << 10, // far below the 1 MB that net/http allows, because senders are unknown
	}
	return s, nil
}

// noCallback answers a request whose path is not that of a callback, in the form of the other errors.
func noCallback(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"field":"path","error":"there is no callback at this path; use the URL in the field callback of the notification, as it is"}`+"\n")
}

// start calls `fail` if the server ends with an error.
func (s *callbackServer) start(fail func(error)) {
	go func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("accept the results of external calls: %w", err))
		}
	}()
}

// stop waits up to [callbackStop] for the requests that are being answered. A second call has no effect. `s` may be nil.
func (s *callbackServer) stop() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callbackStop)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
	s.listener.Close() // Shutdown does not know it before start
}

func callbacksText(c *config.Callbacks, s *callbackServer) string {
	switch {
	case c == nil:
		return ""
	case s == nil:
		return fmt.Sprintf("Callbacks   %s; this worker does not accept them\n", c.URL)
	}
	return fmt.Sprintf("Callbacks   %s, accepted here at http://%s%s\n", c.URL, s.listener.Addr(), s.path)
}
