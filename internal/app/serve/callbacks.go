package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// callbackServer accepts the results of external calls on a web server.
type callbackServer struct {
	web  *webServer
	own  bool // nothing else uses the web server
	gate *gate
	path string
}

// newCallbackServer accepts results on a web server. It takes an address for one of its own if `web` is nil. Requests wait until
// [callbackServer.start]. The caller must call [callbackServer.stop].
func newCallbackServer(
	ctx context.Context, web *webServer, address string, c config.Callbacks, temporal client.Client, dc converter.DataConverter, log *slog.Logger,
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
	s := &callbackServer{web: web, own: web == nil, gate: newGate(handler), path: strings.TrimRight(u.Path, "/")}
	if s.own {
		if s.web, err = listen(ctx, address, log); err != nil {
			return nil, fmt.Errorf("callbacks: %w; choose another address with callbacks.listen or --listen, or accept no results here with --listen none", err)
		}
	}
	s.web.mux.Handle(s.path+"/{token}", s.gate)
	s.web.mux.HandleFunc("/", noCallback)
	return s, nil
}

// noCallback answers a request whose path is not that of a callback, in the form of the other errors.
func noCallback(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotFound, map[string]string{
		"field": "path", "error": "there is no callback at this path; use the URL in the field callback of the notification, as it is",
	})
}

// start calls `fail` if the server ends with an error.
func (s *callbackServer) start(fail func(error)) {
	if s.own {
		s.web.serve(fail)
	}
	s.gate.open()
}

// stop waits up to [callbackStop] for the requests that are being answered. A second call has no effect. `s` may be nil.
func (s *callbackServer) stop() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callbackStop)
	defer cancel()
	if s.own {
		s.web.stop(ctx)
		return
	}
	s.gate.close(ctx)
}

func callbacksText(c *config.Callbacks, s *callbackServer) string {
	switch {
	case c == nil:
		return ""
	case s == nil:
		return fmt.Sprintf("Callbacks   %s; this worker does not accept them\n", c.URL)
	}
	return fmt.Sprintf("Callbacks   %s, accepted here at http://%s%s\n", c.URL, s.web.listener.Addr(), s.path)
}
