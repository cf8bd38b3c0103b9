package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

var errEndedEarly = errors.New("its process ended")

// pollEvery is the time between two checks of a condition in [waitReady]. It is short compared to the second that a server
// needs to start.
const pollEvery = 20 * time.Millisecond

func waitReady(ctx context.Context, s *Server) error {
	conditions := []struct {
		what string
		met  func(context.Context) error
	}{
		// This check is the first, so that gRPC does not begin with a failed connection. After a failure, gRPC waits a second.
		{"Temporal listens", s.listens},
		{"the namespace " + s.namespace + " can be used", s.namespaceUsable},
		{"the Web UI answers", s.uiAnswers},
	}
	for _, c := range conditions {
		for {
			err := c.met(ctx)
			if err == nil {
				break
			}
			select {
			case <-s.child.done:
				return fmt.Errorf("%w (%w)", errEndedEarly, s.child.exit())
			case <-ctx.Done():
				return fmt.Errorf("wait until %s: %w (last error: %w)", c.what, ctx.Err(), err)
			case <-time.After(pollEvery):
			}
		}
	}
	// If another process has the port, our server has ended, and the other process has answered the checks.
	select {
	case <-s.child.done:
		return fmt.Errorf("%w (%w)", errEndedEarly, s.child.exit())
	default:
		return nil
	}
}

func (s *Server) listens(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s *Server) namespaceUsable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{
		HostPort:  s.Address(),
		Namespace: s.namespace,
		Logger:    log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	// The check lists workflows and does not describe the namespace. The list needs the same parts of the server as a workflow:
	// the frontend's namespace cache, the history service and the visibility store.
	_, err = c.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: s.namespace, PageSize: 1,
	})
	return err
}

// uiAnswers returns nil if the Web UI answers and can reach Temporal.
func (s *Server) uiAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// The request is not for the page of the Web UI but for data of Temporal. The Web UI has a connection to Temporal of its own,
	// and the first attempt to connect may have failed.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.UIURL()+"/api/v1/namespaces", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // only the status matters
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP %s", resp.Status)
	}
	return nil
}

// inherited has the names of the environment variables that the server inherits. The server needs no API keys, and must not get
// variables such as TEMPORAL_ADDRESS, which are settings of clients.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "TZ", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
	"APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", // on Windows
}

// environment returns those of the given environment variables that the server inherits; see [inherited].
func environment(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !slices.Contains(inherited, name)
	})
}
