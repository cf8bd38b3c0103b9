package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// toolbox is the tools of a worker process.
type toolbox struct {
	registry *tool.Registry
	sources  []*mcp.Source
	// queues are the task queues of the stateful servers that run here.
	queues []string
	// lines tell a person what there is.
	lines []string
}

func newToolbox(ctx context.Context, cfg *config.Config, stateful string, log *slog.Logger) (*toolbox, error) {
	t := &toolbox{registry: new(tool.Registry)}
	if err := t.fill(ctx, cfg, stateful, log); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *toolbox) fill(ctx context.Context, cfg *config.Config, stateful string, log *slog.Logger) error {
	own, err := builtin.Tools(builtin.Options{Root: cfg.Tools.Root, Secret: cfg.SecretFiles(), AllowPrivate: cfg.Tools.HTTPAllowPrivate})
	if err != nil {
		return err
	}
	var names []string
	for _, each := range own {
		if err := t.registry.Add(each); err != nil {
			return err
		}
		names = append(names, each.Spec().Name)
	}
	t.lines = append(t.lines, "built in: "+strings.Join(names, ", "))

	servers, err := statefulHere(cfg, stateful)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		if !needed(cfg, name) {
			continue
		}
		problems = append(problems, t.addServer(ctx, cfg, name, servers[name], log))
	}
	return errors.Join(problems...)
}

// addServer connects to an MCP server. One that is stateful and runs in another worker is
// asked for its tools and let go.
func (t *toolbox) addServer(ctx context.Context, cfg *config.Config, name string, here bool, log *slog.Logger) error {
	conf := cfg.MCPServers[name]
	env, err := conf.ResolveEnv()
	if err != nil {
		return fmt.Errorf("mcp server %s: %w", name, err)
	}
	headers, err := conf.ResolveHeaders()
	if err != nil {
		return fmt.Errorf("mcp server %s: %w", name, err)
	}
	server := mcp.Server{
		Name: name, Command: conf.Command, Env: env, URL: conf.URL, Headers: headers,
		Prefix: conf.Prefix, Rename: conf.Rename, Stateful: conf.Stateful, Timeout: conf.Timeout, Logger: log,
	}
	if conf.Stateful {
		server.Queue = cfg.TaskQueue + ".mcp." + name
	}
	source, err := mcp.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("%w: %s", err, mend(name, conf))
	}
	tools, err := source.Tools(ctx)
	if err != nil {
		return errors.Join(err, source.Close())
	}
	where := ""
	var kept tool.Source = source
	switch {
	case conf.Stateful && here:
		t.queues = append(t.queues, server.Queue)
		t.sources = append(t.sources, source)
		where = " (stateful, runs here)"
	case conf.Stateful:
		kept = listed(tools)
		where = " (stateful, runs in another worker)"
		if err := source.Close(); err != nil {
			log.Warn("close MCP server", "server", name, "error", err)
		}
	default:
		t.sources = append(t.sources, source)
	}
	var names []string
	for _, each := range tools {
		names = append(names, printable.Name(each.Spec().Name))
	}
	t.lines = append(t.lines, fmt.Sprintf("%s: %s%s", name, strings.Join(names, ", "), where))
	return t.registry.AddSource(name, kept)
}

// mend says what a person can do about a server that cannot be reached.
func mend(name string, conf config.MCPServer) string {
	if conf.URL != "" {
		return fmt.Sprintf("check that the server is running, and mcp_servers.%s.url in the configuration", name)
	}
	return fmt.Sprintf("install %q, or correct mcp_servers.%s.command in the configuration", conf.Command[0], name)
}

func (t *toolbox) close() {
	for _, source := range t.sources {
		_ = source.Close() // the process ends
	}
}

// listed is the tools of a server that does not run here: known, never called.
type listed []tool.Tool

func (l listed) Tools(context.Context) ([]tool.Tool, error) { return l, nil }

// statefulHere reads the flag that says which stateful servers run in this worker.
func statefulHere(cfg *config.Config, flag string) (map[string]bool, error) {
	here := map[string]bool{}
	var known []string
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		if cfg.MCPServers[name].Stateful {
			known = append(known, name)
			here[name] = flag == "all"
		}
	}
	if flag == "all" || flag == "none" {
		return here, nil
	}
	for name := range strings.SplitSeq(flag, ",") {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--stateful: there is no stateful MCP server %q; the configuration has %v", name, known)
		}
		here[name] = true
	}
	return here, nil
}

// needed reports whether an agent has tools of the server.
func needed(cfg *config.Config, server string) bool {
	for _, a := range cfg.Agents {
		for _, entry := range a.Tools {
			if name, _ := config.SplitTool(entry); name == server {
				return true
			}
		}
	}
	return false
}
