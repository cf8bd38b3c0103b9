// Package session connects a command to Temporal and to the workers: the flags that all commands have, the wait for a worker, and what a
// person can do about an error.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/dial"
)

const (
	// ConfigEnv is the environment variable that names the configuration file if the flag `--config` does not.
	ConfigEnv = "REAGENT_CONFIG"
	// defaultConfig is the configuration file if neither the flag `--config` nor [ConfigEnv] names one. This file need not
	// exist.
	defaultConfig = "agents.yaml"
	// dialTimeout limits the time to connect to Temporal. It suffices for a distant server. For a missing server on this
	// machine, [Flags.Dial] does not wait for this time, because it calls [listens] first.
	dialTimeout = 10 * time.Second
)

// Flags holds the values of the flags that all commands have. Its methods read the configuration file and connect to
// Temporal. Each command calls only the methods that it needs.
type Flags struct {
	ConfigPath string
	Queue      string
	Address    string
	Namespace  string
	// converter is the data converter of the client that [Flags.Dial] returned; nil means the SDK's default.
	converter converter.DataConverter
}

// Register adds the flags to all commands.
func (g *Flags) Register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&g.ConfigPath, "config", "", "configuration `file` (default $"+ConfigEnv+", else "+defaultConfig+" if it exists)")
	flags.StringVar(&g.Queue, "task-queue", "", "task `queue` of the workers (default: that of the agent; for a new agent that of the configuration, else "+config.DefaultTaskQueue+")")
	flags.StringVar(&g.Address, "address", "", "`host:port` of Temporal (default $TEMPORAL_ADDRESS, else temporal.toml, else "+dial.DefaultAddress+")")
	flags.StringVar(&g.Namespace, "namespace", "", "Temporal `namespace` (default $TEMPORAL_NAMESPACE, else temporal.toml, else default)")
}

// config returns an error that wraps a [*noConfigError] if the flag `--config` or the variable names a file that does not exist. If
// neither names a file and there is no agents.yaml, it returns nil without an error.
func (g *Flags) config() (*config.Config, error) {
	path := cmp.Or(g.ConfigPath, os.Getenv(ConfigEnv))
	named := path != ""
	cfg, err := config.Load(cmp.Or(path, defaultConfig))
	switch {
	case err == nil:
		return cfg, nil
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.Errorf(exit.Usage, "%w", &noConfigError{path: path, fromEnv: g.ConfigPath == ""})
	}
	return nil, exit.Errorf(exit.Usage, "%w", err)
}

type noConfigError struct {
	path string
	// fromEnv says that the environment variable REAGENT_CONFIG named the file, and not the flag `--config`.
	fromEnv bool
}

// Error names the file and, if the path is relative, the current folder.
func (e *noConfigError) Error() string {
	dir, err := os.Getwd()
	if filepath.IsAbs(e.path) || err != nil {
		return fmt.Sprintf("there is no configuration file %s: name one with --config or %s", e.path, ConfigEnv)
	}
	if e.fromEnv {
		return fmt.Sprintf("%s names the configuration file %s, which does not exist in %s: set the variable to the file's absolute path, or name a file with --config",
			ConfigEnv, e.path, dir)
	}
	return fmt.Sprintf("there is no configuration file %s in %s: name one with --config or %s", e.path, dir, ConfigEnv)
}

// TaskQueue returns the task queue of the flag `--task-queue`, else that of the configuration, else the default.
func (g *Flags) TaskQueue() (string, error) {
	if g.Queue != "" {
		return g.Queue, nil
	}
	cfg, err := g.config()
	if err != nil {
		return "", err
	}
	if cfg == nil {
		return config.DefaultTaskQueue, nil
	}
	return cfg.TaskQueue, nil
}

// Dial connects to Temporal and returns the client. The caller must close the client. Dial also sets `g.Address`,
// `g.Namespace` and `g.converter` to the values that the client uses.
func (g *Flags) Dial(ctx context.Context) (client.Client, error) {
	opts, err := dial.ClientOptions(g.Address, g.Namespace)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%w", err)
	}
	if !listens(ctx, opts.HostPort) {
		return nil, exit.Errorf(exit.Unreachable, "%w", dial.NoServer(opts.HostPort))
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(dialCtx, opts)
	if err == nil {
		g.Address, g.Namespace, g.converter = opts.HostPort, opts.Namespace, opts.DataConverter
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, exit.Errorf(exit.Unreachable, "%w", dial.Problem(opts.HostPort, err))
}

// listens reports whether a program accepts connections at an address of this machine. With this check, [Flags.Dial] notices
// a missing server at once. gRPC alone would report it only after several retries. For an address of another machine, listens
// always returns true, because the connection may need a proxy. It also returns true if the context has ended.
func listens(ctx context.Context, address string) bool {
	if _, _, local := localAddress(address); !local {
		return true
	}
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return ctx.Err() != nil // after an interrupt, dial returns the error of ctx
	}
	conn.Close()
	return true
}

// localAddress splits an address. `local` reports whether it is an address of this machine.
func localAddress(address string) (host, port string, local bool) {
	host, port, err := net.SplitHostPort(address)
	return host, port, err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}
