package reagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// ToolSource lists the tools that come from one source: an MCP server, or [Options.Tools].
type ToolSource struct {
	// Server is the name of the MCP server. It is empty for the tools of [Options.Tools].
	Server string
	// Stateful says that the source is an MCP server that keeps state between calls.
	Stateful bool
	// RunsHere says that this worker runs the calls of the tools. It is false for a server in [Options.Elsewhere].
	RunsHere bool
	// Tools are the names of the tools, as models see them.
	Tools []string
}

type toolbox struct {
	registry tool.Registry
	servers  []runningServer
	// queues are the task queues of the stateful MCP servers that run in this worker.
	queues  []string
	sources []ToolSource
}

type runningServer struct {
	mcp.Server
	source *mcp.Source
}

// newToolbox connects to the MCP servers of the options, and returns a toolbox with the tools of these servers and of
// [Options.Tools]. Local servers that the toolbox `earlier` has with the same configuration are taken from there, so that they keep their
// state; `earlier` may be nil. The error names every MCP server and every tool that failed. The caller must close what is not in `earlier`
// (see [toolbox.without]), also after an error.
func newToolbox(ctx context.Context, o Options, earlier *toolbox) (*toolbox, error) {
	t := new(toolbox)
	problems := []error{t.addTools(o.Tools)}
	for _, name := range o.Elsewhere {
		if !slices.ContainsFunc(o.MCPServers, func(s mcp.Server) bool { return s.Name == name && s.Stateful }) {
			problems = append(problems, fmt.Errorf("Options.Elsewhere names the stateful MCP server %q, but Options.MCPServers has no stateful server with this name: correct the name, or add the server", name))
		}
	}
	for _, server := range o.MCPServers {
		problems = append(problems, t.addServer(ctx, o, server, earlier))
	}
	return t, errors.Join(problems...)
}

// find returns the local server that runs with the given configuration; nil if there is none. A remote server is connected anew, because
// its credentials cannot be compared.
func (t *toolbox) find(server mcp.Server) *mcp.Source {
	if t == nil || server.URL != "" {
		return nil
	}
	for _, running := range t.servers {
		other := running.Server
		other.Logger = server.Logger
		if reflect.DeepEqual(other, server) {
			return running.source
		}
	}
	return nil
}

// without returns the servers that the other toolbox, which may be nil, does not have.
func (t *toolbox) without(other *toolbox) []runningServer {
	return slices.DeleteFunc(slices.Clone(t.servers), func(s runningServer) bool {
		return other != nil && slices.ContainsFunc(other.servers, func(o runningServer) bool { return o.source == s.source })
	})
}

// hidden returns the servers with loggers and credentials whose secrets `hide` hides.
func hidden(servers []mcp.Server, hide *redact.Redactor) []mcp.Server {
	servers = slices.Clone(servers)
	for i := range servers {
		s := &servers[i]
		if s.Logger != nil {
			s.Logger = slog.New(hide.Handler(s.Logger.Handler()))
		}
		if source := s.Credential; source != nil {
			s.Credential = func(ctx context.Context, refused *map[string]string) (map[string]string, error) {
				headers, err := source(ctx, refused)
				hide.Add(redact.OnlyRandom(withWords(credentialTexts("", headers)))...)
				return headers, err
			}
		}
	}
	return servers
}

func (t *toolbox) addTools(tools []Tool) error {
	own := ToolSource{RunsHere: true}
	var problems []error
	for _, each := range tools {
		if invalid, ok := each.(invalidTool); ok {
			problems = append(problems, invalid.err)
		} else if err := t.registry.Add(each); err != nil {
			problems = append(problems, err)
		} else {
			own.Tools = append(own.Tools, each.Spec().Name)
		}
	}
	t.sources = append(t.sources, own)
	return errors.Join(problems...)
}

// addServer connects to an MCP server, and adds the tools of the server to the toolbox. If [Options.Elsewhere] names the
// server, addServer only lists the tools and then closes the connection.
func (t *toolbox) addServer(ctx context.Context, o Options, server mcp.Server, earlier *toolbox) error {
	if server.Stateful {
		server.TaskQueue = protocol.ServerQueue(o.TaskQueue, server.Name)
	}
	server.Logger = cmp.Or(server.Logger, o.Logger)
	server.Timeout = cmp.Or(server.Timeout, time.Minute)
	connected := earlier.find(server)
	if connected == nil {
		var err error
		if connected, err = mcp.Connect(ctx, server); err != nil {
			failed := &ServerError{Server: server, Err: err}
			return errors.Join(failed, t.registry.AddSource(server.Name, silent{failed}))
		}
	}
	running := runningServer{server, connected}
	tools, err := connected.Tools(ctx)
	if err != nil {
		t.servers = append(t.servers, running) // the caller closes it
		return err
	}
	var source tool.Source = connected
	here := !server.Stateful || !slices.Contains(o.Elsewhere, server.Name)
	if here {
		t.servers = append(t.servers, running)
	} else {
		source = listed(tools)
		if err := connected.Close(); err != nil {
			o.Logger.WarnContext(ctx, "the MCP server could not be closed", "server", server.Name, "error", err)
		}
	}
	if here && server.Stateful {
		t.queues = append(t.queues, server.TaskQueue)
	}
	found := ToolSource{Server: server.Name, Stateful: server.Stateful, RunsHere: here}
	for _, each := range tools {
		found.Tools = append(found.Tools, each.Spec().Name)
	}
	t.sources = append(t.sources, found)
	return t.registry.AddSource(server.Name, source)
}

func (t *toolbox) close() { closeAll(t.servers) }

func closeAll(servers []runningServer) {
	for _, server := range servers {
		_ = server.source.Close() // nobody uses it any more, so an error has no consequence
	}
}

// ServerError says that an MCP server could not be started, or that the worker could not connect to it.
type ServerError struct {
	// Server is the MCP server that failed.
	Server mcp.Server
	// Err is the error of the start or of the connection.
	Err error
}

// Error says what went wrong, and what to check: the URL of the server or its command. If the server wrote something, this says more.
func (e *ServerError) Error() string {
	if strings.Contains(e.Err.Error(), "\n") || errors.As(e.Err, new(*tool.TokenError)) {
		return e.Err.Error()
	}
	if e.Server.URL != "" {
		return fmt.Sprintf("%v: check that the server is running and that its url is right", e.Err)
	}
	if len(e.Server.Command) == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: check that %q is installed and that the server's command is right", e.Err, e.Server.Command[0])
}

// Unwrap returns [ServerError.Err].
func (e *ServerError) Unwrap() error { return e.Err }

// silent is a [tool.Source] for an MCP server that could not be started. It lets the other tools of an agent be checked.
type silent struct{ err *ServerError }

// Tools implements [tool.Source].
func (s silent) Tools(context.Context) ([]tool.Tool, error) { return nil, s.err }

// listed is a [tool.Source] for a stateful MCP server that runs in another worker. It contains the tools of the server. Calls
// of these tools go to the server's own task queue, which the other worker serves.
type listed []tool.Tool

// Tools implements [tool.Source]. It returns the tools that the MCP server had when this worker started.
func (l listed) Tools(context.Context) ([]tool.Tool, error) { return l, nil }
