package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/config"
)

// CheckOptions say what [Check] reads.
type CheckOptions struct {
	// Config is the path of the configuration file: see [Options].Config.
	Config string
	// NoEnvironment leaves out what is not in the file: environment variables and the files with keys. MCP servers that need one that is
	// missing are not started.
	NoEnvironment bool
	// NoMCPServers starts no MCP servers. Whether they have the tools that agents name is then not known.
	NoMCPServers bool
}

// progressAfter is how long a check may take before it says what it does.
const progressAfter = 2 * time.Second

// Check finds the mistakes for which a worker of a configuration would not start, without Temporal. It goes on after a mistake as far as
// possible, and names what it could not check because of one. It starts each MCP server that an agent uses, and stops it again. What takes
// long is told on stderr. The error is about the check and not about the configuration: there is no such file, or `ctx` has ended.
func Check(ctx context.Context, o CheckOptions, stderr io.Writer) (Report, error) {
	if err := makePrivate(); err != nil {
		return Report{}, fmt.Errorf("hide the keys from other processes: %w", err)
	}
	path := pathOf(o.Config)
	cfg, err := config.LoadPart(path)
	if _, mistakes := errors.AsType[*config.Error](err); err != nil && !mistakes {
		return Report{}, unread(path, err)
	}
	c := checker{cfg: cfg, stderr: &lockedWriter{to: stderr}}
	c.report(err)
	if cfg == nil {
		c.unchecked = []config.Problem{{File: path, Message: "nothing else was checked, because the file is no mapping in YAML"}}
		return newReport(c.problems, c.unchecked), nil
	}
	c.report(errors.Join(cfg.CheckTools(), cfg.CheckFiles()))
	missing := problemsOf(cfg, nil, cfg.CheckEnvironment())
	if !o.NoEnvironment {
		c.problems = append(c.problems, missing...)
	}
	part := c.whole(missing)
	options, err := agentOptions(part, Options{Stateful: "all"})
	if !o.NoEnvironment && len(c.problems) == 0 {
		c.report(err) // otherwise it says the same in other words
	}
	c.choose(&options, o, missing)
	if err := c.define(ctx, options); err != nil {
		return Report{}, err
	}
	report := newReport(c.problems, c.unchecked)
	report.Agents, report.Models = len(options.Agents), len(part.Models)
	for _, server := range options.MCPServers {
		if !c.reported("mcp_servers." + server.Name) {
			report.MCPServers++
		}
	}
	return report, nil
}

// checker collects the mistakes of a configuration. After a mistake in the file, the configuration is only a part: see [config.LoadPart].
type checker struct {
	cfg       *config.Config
	stderr    io.Writer
	problems  []config.Problem
	unchecked []config.Problem
}

// report adds the mistakes in an error.
func (c *checker) report(err error) { c.problems = append(c.problems, problemsOf(c.cfg, nil, err)...) }

// skip says that something was not checked, and why.
func (c *checker) skip(field, why string) {
	c.unchecked = append(c.unchecked, c.cfg.Problem(field, why))
}

func (c *checker) reported(field string) bool {
	return slices.ContainsFunc(c.problems, func(p config.Problem) bool { return p.Field == field })
}

// define lets the plugin start the MCP servers and make the definitions, as a worker does. The client never connects to Temporal, because the
// plugin asks nothing before the worker starts.
func (c *checker) define(ctx context.Context, options reagent.Options) error {
	if len(options.Agents) == 0 {
		return nil
	}
	options.Logger = slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: withoutTime}))
	var names []string
	for _, server := range options.MCPServers {
		names = append(names, server.Name)
	}
	if len(names) > 0 {
		slow := time.AfterFunc(progressAfter, func() { fmt.Fprintf(c.stderr, "Starting the MCP servers: %s\n", strings.Join(names, ", ")) })
		defer slow.Stop()
	}
	temporal, err := client.NewLazyClient(client.Options{Logger: quiet{}})
	if err != nil {
		return fmt.Errorf("make a client that does not connect: %w", err)
	}
	defer temporal.Close()
	plugin, err := reagent.New(ctx, temporal, options)
	if ctx.Err() != nil {
		return fmt.Errorf("the check was stopped: %w", ctx.Err())
	}
	if err == nil {
		plugin.Close()
		return nil
	}
	c.problems = append(c.problems, problemsOf(c.cfg, options.Agents, err)...)
	return nil
}

// withoutTime leaves the time out of log entries, which a person reads at once.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// quiet is a logger of Temporal's SDK that logs nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// lockedWriter lets the log and the progress write to one place.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
