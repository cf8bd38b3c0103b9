// Package devserver runs a Temporal development server, with its Web UI, as a child process. It is for `starter dev`, for demos
// and for end-to-end tests.
//
// The server is part of the Temporal CLI. The CLI is found on the PATH, or fetched or built once in the version that internal/pins/cli
// pins; see [Binary]. The server is a child process and not a library, so that this module does not depend on the server's dependencies.
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

// Options are the options of a server. With the zero value, the server keeps its data in memory and listens on free ports of the
// loopback interface.
type Options struct {
	// Port is the port of Temporal. 0 means a free port.
	Port int
	// UIPort is the port of the Web UI. 0 means a free port.
	UIPort int
	// DBFilename is the SQLite file for the data. Empty means that the data is in memory and is lost when the server stops.
	DBFilename string
	// Namespace is the namespace to use. It is created if it does not exist. Defaults to "default".
	Namespace string
	// SearchAttributes are the search attributes to register when the server starts. The keys are their names. The values are
	// their types, such as Keyword.
	SearchAttributes map[string]string
	// DynamicConfig has further settings of Temporal. They replace those of the variable [DynamicConfig] with the same names. The values
	// are JSON.
	DynamicConfig map[string]string

	// Metrics makes the server report its metrics at [Server.MetricsURL].
	Metrics bool

	// LogTo receives the server's warnings and errors until [Server.Stop] is called. Nil discards them. If the start fails,
	// the error contains the last lines even if LogTo is nil.
	LogTo io.Writer
	// Progress receives messages for people while the Temporal CLI is fetched or built. While that takes long, the elapsed time
	// follows after 10, 30 and 60 seconds and then every minute, of a download also after 2 seconds. Nil discards the messages.
	Progress io.Writer

	// StartTimeout limits the time from the start of the server process until the server is ready. The time to fetch or
	// build the Temporal CLI does not count. Defaults to 60 seconds.
	StartTimeout time.Duration
}

// host is the IP address on which servers listen. It is not the name localhost, because localhost is ::1 on some machines and
// 127.0.0.1 on others.
const host = "127.0.0.1"

// attempts is the maximum number of times that [Start] tries to start a server. An attempt can fail because Start chooses a
// free port, and another process takes this port before the server listens on it.
const attempts = 3

// Server is a running development server. Its methods are safe for concurrent use.
type Server struct {
	child     *child
	port      int
	uiPort    int
	metrics   int // the port of the metrics; 0 if the server does not report them
	namespace string
}

// Start starts a Temporal server with a Web UI. It returns when Temporal answers, the namespace can be used and the Web UI
// answers. The context limits the start only. The server runs until [Server.Stop] is called, or until the server ends by
// itself. On Linux, the server also ends when this process ends in any way. The error is a [*PortInUseError] if a port in the
// options is in use.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.StartTimeout = cmp.Or(opts.StartTimeout, time.Minute)
	opts.LogTo = cmp.Or(opts.LogTo, io.Discard)
	opts.Progress = cmp.Or(opts.Progress, io.Discard)
	if err := checkFree(opts); err != nil {
		return nil, err
	}
	if opts.DBFilename != "" {
		if err := makePrivate(opts.DBFilename); err != nil {
			return nil, fmt.Errorf("the database file of the Temporal server contains the agents' messages, but cannot be made readable by its owner only: %w; choose another file with --db-filename", err)
		}
	}
	binary, err := Binary(ctx, opts.Progress)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := start(ctx, binary, opts)
		// checkFree has found the ports in the options free. Another start helps only if it chooses another free port.
		retry := errors.Is(err, errEndedEarly) && (opts.Port == 0 || opts.UIPort == 0)
		if err == nil || !retry || attempt == attempts {
			return s, err
		}
	}
}

func start(ctx context.Context, binary string, opts Options) (*Server, error) {
	s := &Server{port: opts.Port, uiPort: opts.UIPort, namespace: opts.Namespace}
	ports := []*int{&s.port, &s.uiPort}
	if opts.Metrics {
		ports = append(ports, &s.metrics)
	}
	for _, port := range ports {
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

// Address returns the host and port of Temporal.
func (s *Server) Address() string { return address(s.port) }

// UIURL returns the URL of the Web UI.
func (s *Server) UIURL() string { return "http://" + address(s.uiPort) }

// MetricsURL returns the URL of the server's metrics, in Prometheus' text format. Call it only if [Options].Metrics is set.
func (s *Server) MetricsURL() string { return "http://" + address(s.metrics) + "/metrics" }

// Namespace returns the name of the namespace that the options set, or "default" if the options set none. The namespace
// exists, and workflows can be started in it.
func (s *Server) Namespace() string { return s.namespace }

// PID returns the process ID of the server.
func (s *Server) PID() int { return s.child.cmd.Process.Pid }

// Stop ends the server and returns when the server has ended. It asks the server to end, and kills the server if it still
// runs after ten seconds. Stop does nothing if the server has ended already.
func (s *Server) Stop() { s.child.stop() }

// Done returns a channel that is closed when the server has ended, by [Server.Stop] or by itself.
func (s *Server) Done() <-chan struct{} { return s.child.done }

// Err returns an error if the server ended by itself. The error has the exit status and the last lines of output. Err returns
// nil while the server runs, and if [Server.Stop] has ended the server.
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
