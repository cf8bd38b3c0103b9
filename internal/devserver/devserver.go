// Package devserver runs a Temporal development server, with its Web UI, as a
// child process: for `starter dev`, for demos and for end-to-end tests.
//
// The server is the Temporal CLI's, found on the PATH or built once from the
// version that internal/cli pins; see [Binary]. It is a child process and not a
// library, so that nothing of the server's dependencies enters this module.
package devserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Options say how to run a server. The zero value is a server with its data in
// memory on free ports of the loopback interface.
type Options struct {
	// Port is the port of Temporal; 0 picks a free one.
	Port int
	// UIPort is the port of the Web UI; 0 picks a free one.
	UIPort int
	// DBFilename keeps the data in a file. Empty means in memory: gone when the
	// server stops.
	DBFilename string
	// Namespace is made at start, if it is not there. Defaults to "default".
	Namespace string
	// SearchAttributes are registered at start: the name to its type, such as
	// Keyword.
	SearchAttributes map[string]string
	// DynamicConfig adds to, or replaces, the settings in [DynamicConfig]. The
	// values are JSON.
	DynamicConfig map[string]string

	// LogTo gets the server's warnings and errors as they come, and nothing
	// after Stop was called; nil drops them. The last of them are in the error
	// of a failed start either way.
	LogTo io.Writer
	// Progress gets lines for a person while the server is found, built and
	// started; nil drops them.
	Progress io.Writer
	// Waiting is called when a wait of minutes begins, with what is waited for; over is called at its end. Nil means lines
	// on Progress: after 10, 30 and 60 seconds and every minute from then on.
	Waiting func(what string) (over func())

	// StartTimeout is for the server to become ready, once it is built.
	// Defaults to 60 seconds.
	StartTimeout time.Duration
}

// host is the address of the servers: an address and not a name, since localhost is
// ::1 on some machines and clients may be told either.
const host = "127.0.0.1"

// attempts limits the starts of a server whose free port was taken by
// another process before the server had it.
const attempts = 3

// Server is a running development server. Its methods are safe for concurrent
// use.
type Server struct {
	child     *child
	port      int
	uiPort    int
	namespace string
}

// Start returns when the server answers, its namespace can be used, and its Web
// UI is there. The context is for the start alone; the server runs until Stop,
// until it ends by itself, or, on Linux, until this process dies in any way.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.StartTimeout = cmp.Or(opts.StartTimeout, time.Minute)
	if opts.LogTo == nil {
		opts.LogTo = io.Discard
	}
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Waiting == nil {
		opts.Waiting = func(what string) func() { return elapsed(opts.Progress, what, nextTick) }
	}
	if err := checkFree(opts); err != nil {
		return nil, err
	}
	if opts.DBFilename != "" {
		if err := makePrivate(opts.DBFilename); err != nil {
			return nil, fmt.Errorf("the database of the Temporal server holds what agents say, and others must not read it: %w", err)
		}
	}
	binary, err := Binary(ctx, opts.Progress, opts.Waiting)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := start(ctx, binary, opts)
		// A port that someone asked for was free a moment ago; only a free one
		// that we picked is worth picking anew.
		retry := errors.Is(err, errEndedEarly) && (opts.Port == 0 || opts.UIPort == 0)
		if err == nil || !retry || attempt == attempts {
			return s, err
		}
	}
}

func start(ctx context.Context, binary string, opts Options) (*Server, error) {
	s := &Server{port: opts.Port, uiPort: opts.UIPort, namespace: opts.Namespace}
	for _, port := range []*int{&s.port, &s.uiPort} {
		if *port == 0 {
			var err error
			if *port, err = freePort(); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if s.child, err = startChild(binary, arguments(s, opts), opts.LogTo); err != nil {
		return nil, fmt.Errorf("start the Temporal server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.StartTimeout)
	defer cancel()
	if err := waitReady(ctx, s); err != nil {
		s.child.stop()
		return nil, fmt.Errorf("the Temporal server (%s) did not become ready: %w%s", binary, err, s.child.tail.report())
	}
	return s, nil
}

// Address is the host and port of Temporal.
func (s *Server) Address() string { return address(s.port) }

// UIURL is the URL of the Web UI.
func (s *Server) UIURL() string { return "http://" + address(s.uiPort) }

// Namespace is the namespace that was asked for, ready to be used.
func (s *Server) Namespace() string { return s.namespace }

// PID is the process ID of the server.
func (s *Server) PID() int { return s.child.cmd.Process.Pid }

// Stop asks the server to end, kills it if it does not within ten seconds, and
// returns when it is gone. Stopping a server that has ended does nothing.
func (s *Server) Stop() { s.child.stop() }

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.child.done }

// Err says why the server ended by itself, with the last lines of its log. It
// is nil while the server runs and after Stop.
func (s *Server) Err() error {
	select {
	case <-s.child.done:
	default:
		return nil
	}
	if s.child.stopped.Load() {
		return nil
	}
	return fmt.Errorf("the Temporal server ended by itself (%w)%s", s.child.exit(), s.child.tail.report())
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
