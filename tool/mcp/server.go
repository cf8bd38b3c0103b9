// Package mcp makes the tools of MCP servers available to agents. It uses the official Go SDK. It starts local servers, which
// use the stdio transport, and connects to remote servers over streamable HTTP.
//
// The package records the delivery of each call, so an error of a call says one of two things: the tool did not run, or the
// outcome is unknown ([tool.ErrOutcomeUnknown]). The package never sends a call again that may have run.
package mcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Server is the configuration of one MCP server. A local server has a Command, and a remote server has a URL. One of the two
// must be set, and only one.
type Server struct {
	// Name is the server's name in errors and logs. It is required.
	Name string

	// Command is the program of a local server, followed by the program's arguments. The program communicates over stdin and
	// stdout. It runs in a new process group if the system has process groups. [Source.Close] stops all processes of this
	// group.
	Command []string
	// Env has additional environment variables for a local server. From the worker, the server gets only the variables HOME,
	// LOGNAME, PATH, SHELL, TERM and USER, as with the official SDKs. On Windows the list is similar. The worker's other
	// variables may contain secrets.
	Env map[string]string
	// Dir is the working directory of a local server. Empty means the worker's working directory.
	Dir string

	// URL is the endpoint of a remote server, which uses streamable HTTP.
	URL string
	// Headers are sent with every request to a remote server. The headers Idempotency-Key and X-Idempotency-Key are not
	// allowed: with one of them, package net/http may send a POST request twice.
	Headers map[string]string
	// Credential returns headers for each request to a remote server, for tokens that change. They count more than Headers. It is called
	// concurrently, so it must keep what takes long to get. Usually `refused` is nil. If the server has answered HTTP 401, Credential is
	// called once more with the headers that were refused. If the result differs, the request is sent again. Nil means Headers alone.
	Credential func(ctx context.Context, refused *map[string]string) (map[string]string, error)
	// CallerToken says that each tool call has the token of the caller (see [tool.CallerToken]) in the header Authorization, in place of one
	// from Headers or Credential. Its audience is Name. The list of tools is still read with Headers and Credential, because it is the same
	// for all callers.
	CallerToken bool
	// TLS has the settings of TLS connections to a remote server, for example with a client certificate. Nil means the defaults of package tls.
	TLS *tls.Config

	// Prefix is put before the names of the server's tools. A tool that is listed in `Rename` gets no prefix.
	Prefix string
	// Rename maps a tool's name at the server to the name that the model sees.
	Rename map[string]string

	// Stateful says that the server keeps state between calls, such as a browser page. In this case only one worker may run the
	// server, and `TaskQueue` must be set. This package does not check that; it only logs a warning when the state is lost.
	Stateful bool
	// TaskQueue is the task queue of the worker that runs the server's tools; see [tool.Spec.TaskQueue].
	TaskQueue string

	// Timeout limits the duration of one call. If a call was sent and takes longer, the outcome of the call is unknown. 0 means
	// that only the deadline of the call's context limits the call.
	Timeout time.Duration
	// ConnectTimeout limits the time to connect and to list the tools. Defaults to 30 seconds.
	ConnectTimeout time.Duration
	// Protocol is the version of the MCP specification that the client requests, such as "2025-11-25". If Protocol is empty,
	// the client requests the newest version and falls back to older ones. Set Protocol for a server that does not support this
	// fallback correctly.
	Protocol string

	// Logger gets messages for the operator, such as the lines of the server's stderr, and lost connections. Defaults to
	// [slog.Default].
	Logger *slog.Logger
}

// withDefaults returns a copy of the configuration in which unset fields have their default values. It returns an error if the
// configuration is not valid.
func (s Server) withDefaults() (Server, error) {
	fail := func(problem string) (Server, error) {
		return Server{}, fmt.Errorf("mcp server %q: %s", s.Name, problem)
	}
	switch {
	case s.Name == "":
		return fail("Name is not set; set the name of the server")
	case len(s.Command) > 0 && s.URL != "":
		return fail("Command and URL are both set; set only one of them")
	case len(s.Command) > 0 && (len(s.Headers) > 0 || s.Credential != nil || s.CallerToken || s.TLS != nil):
		return fail("Headers, Credential, CallerToken or TLS are set, but a server with a Command gets no HTTP requests; set Env instead")
	case len(s.Command) == 0 && s.URL == "":
		return fail("neither Command nor URL is set; set one of them")
	case s.URL != "" && (len(s.Env) > 0 || s.Dir != ""):
		return fail("Env or Dir is set, but they apply only to a server with a Command; remove them")
	}
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			return fail(err.Error())
		}
	}
	if err := checkHeaders(s.Headers); err != nil {
		return fail(err.Error())
	}
	s.ConnectTimeout = cmp.Or(max(s.ConnectTimeout, 0), 30*time.Second)
	s.Logger = cmp.Or(s.Logger, slog.Default()).With("mcp_server", s.Name)
	return s, nil
}

func checkHeaders(headers map[string]string) error {
	for name := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Idempotency-Key", "X-Idempotency-Key":
			return errors.New("the header " + name + " is not allowed, because net/http may send a request with it twice; remove it (the key of a call is sent in _meta)")
		}
	}
	return nil
}

// The error does not contain the URL, because the URL may contain a secret.
func checkURL(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return errors.New("URL cannot be parsed; set an http or https URL such as https://example.com/mcp")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("URL is not an http or https URL; set one such as https://example.com/mcp")
	}
	return nil
}

func (s Server) modelName(name string) string {
	if renamed, ok := s.Rename[name]; ok {
		return renamed
	}
	return s.Prefix + name
}
