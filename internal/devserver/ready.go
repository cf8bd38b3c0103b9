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

// errEndedEarly says that the process ended before it was ready.
var errEndedEarly = errors.New("it ended")

// pollEvery is short beside the second that a server takes.
const pollEvery = 20 * time.Millisecond

// waitReady returns when Temporal answers, the namespace can be used, and the
// Web UI is there; or when the server has ended, or the context has.
func waitReady(ctx context.Context, s *Server) error {
	conditions := []struct {
		what string
		met  func(context.Context) error
	}{
		// First, so that gRPC does not begin with a failure: it waits a second
		// before its next try.
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
				return fmt.Errorf("waiting until %s: %w (last: %w)", c.what, ctx.Err(), err)
			case <-time.After(pollEvery):
			}
		}
	}
	// A stranger on the port would have answered too, if our server had ended
	// since it could not have the port.
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
	// A list, not a description: it needs the frontend's cache of namespaces, the
	// history service and the visibility store, as a workflow does.
	_, err = c.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: s.namespace, PageSize: 1,
	})
	return err
}

func (s *Server) uiAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// Not its page alone: what the page shows comes through the Web UI's own
	// connection to Temporal, which may have begun with a failure.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.UIURL()+"/api/v1/namespaces", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // the status says all
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP %s", resp.Status)
	}
	return nil
}

// inherited are the variables that the server gets of our environment. It needs no key, and a TEMPORAL_ADDRESS of a cluster
// has no meaning for a server.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "TZ", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
	"APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", // of Windows
}

// environment returns the part of an environment that the server gets.
func environment(env []string) []string {
	kept := []string{} // nil would pass on everything
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(inherited, name) {
			kept = append(kept, e)
		}
	}
	return kept
}
