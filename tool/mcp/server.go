// Package mcp gives the tools of MCP servers to agents, through the official Go
// SDK: of local servers that it starts and talks to over stdin and stdout, and of
// remote ones over streamable HTTP.
//
// What matters here is to know what became of a call. Each call is followed from
// its first byte, so that a failure says one of two things: the call did not reach the
// server, or it may have and its outcome is unknown. Nothing is sent twice.
package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Server says how to reach one MCP server, and what to call its tools. Either
// Command or URL is set.
type Server struct {
	// Name stands for the server in references, errors and logs.
	Name string

	// Command starts a server that speaks over stdin and stdout: the program and its
	// arguments. The program runs in its own process group, which ends with the
	// [Source].
	Command []string
	// Env is added to the environment of Command. Of the worker's own environment
	// only HOME, LOGNAME, PATH, SHELL, TERM and USER are passed on (on Windows, their
	// counterparts), as the official SDKs do: the worker's secrets are not a server's.
	Env map[string]string
	// Dir is the working directory of Command. Empty means the worker's.
	Dir string

	// URL is the endpoint of a server that speaks streamable HTTP.
	URL string
	// Headers are sent with every request to URL. Idempotency-Key is refused: with
	// it net/http takes a POST for one that may be repeated.
	Headers map[string]string

	// Prefix is put before the names of all tools that Rename does not name.
	Prefix string
	// Rename gives tools other names for the model, by their names at the server.
	Rename map[string]string

	// Stateful says that the server keeps something between calls, such as a browser
	// page. It is for the caller, who then runs the server in one worker and sets
	// Queue; here it only makes the loss of the state a warning in the log.
	Stateful bool
	// Queue is copied to the Spec of every tool.
	Queue string

	// Timeout limits the duration of one call. A call that takes longer has an unknown
	// outcome. 0 means that only the call's context limits it.
	Timeout time.Duration
	// ConnectTimeout limits the time to connect and to list the tools.
	// Defaults to 30 seconds.
	ConnectTimeout time.Duration
	// Protocol is the MCP revision to offer, such as "2025-11-25". Empty offers the
	// newest and falls back; it is set for a server that stumbles over that.
	Protocol string

	// Logger takes what is not for the model: the server's stderr, lost
	// connections. Defaults to [slog.Default].
	Logger *slog.Logger
}

const defaultConnectTimeout = 30 * time.Second

// withDefaults returns a copy that is filled in, or what is wrong with it.
func (s Server) withDefaults() (Server, error) {
	fail := func(problem string) (Server, error) {
		return Server{}, fmt.Errorf("mcp server %q: %s", s.Name, problem)
	}
	switch {
	case s.Name == "":
		return fail("no name")
	case len(s.Command) > 0 && s.URL != "":
		return fail("both a command and a URL")
	case len(s.Command) > 0 && len(s.Headers) > 0:
		return fail("headers are for a server with a URL")
	case len(s.Command) == 0 && s.URL == "":
		return fail("neither a command nor a URL")
	case s.URL != "" && (len(s.Env) > 0 || s.Dir != ""):
		return fail("env and dir are for a server with a command")
	}
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			return fail(err.Error())
		}
	}
	for name := range s.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Idempotency-Key", "X-Idempotency-Key":
			return fail("the header " + name + " would let a call be sent twice; the key travels in the request's _meta")
		}
	}
	if s.ConnectTimeout <= 0 {
		s.ConnectTimeout = defaultConnectTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	s.Logger = s.Logger.With("mcp_server", s.Name)
	return s, nil
}

// checkURL does not repeat the URL, which may hold a secret.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the URL cannot be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("the URL is not one of http or https")
	}
	return nil
}

// modelName returns the name by which the model calls a tool of the server.
func (s Server) modelName(name string) string {
	if renamed, ok := s.Rename[name]; ok {
		return renamed
	}
	return s.Prefix + name
}
