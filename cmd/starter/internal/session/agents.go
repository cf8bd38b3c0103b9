package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/config"
)

// Agents connects to Temporal and returns a client that can start agents. `queue` is the task queue of this client: that of the flag
// `--task-queue`, else that of the configuration, else the default. The caller must call `done`, which closes the connection.
func (g *Flags) Agents(ctx context.Context) (c *client.Client, queue string, done func(), err error) {
	if queue, err = g.TaskQueue(); err != nil {
		return nil, "", nil, err
	}
	temporal, err := g.Dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	return g.client(temporal, queue), queue, temporal.Close, nil
}

// Serve connects to Temporal, and calls `serve` with the connection and a client until it returns. The error has an exit code.
func (g *Flags) Serve(ctx context.Context, serve func(context.Context, sdk.Client, *client.Client) error) error {
	queue, err := g.TaskQueue()
	if err != nil {
		return err
	}
	temporal, err := g.Dial(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	return WithExitCode(serve(ctx, temporal, g.client(temporal, queue)), queue)
}

// Definition is an agent in the configuration.
type Definition struct{ Name, Description string }

// Definitions returns the agents of the configuration, by their names. There is at least one. All errors have the code [exit.Usage].
func (g *Flags) Definitions() ([]Definition, error) {
	cfg, err := g.config()
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		return nil, exit.Errorf(exit.Usage, "there is no configuration with agents: name it with --config or %s", ConfigEnv)
	}
	var all []Definition
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		all = append(all, Definition{name, cfg.Agents[name].Description})
	}
	return all, nil
}

// client returns a client that writes into the texts of the Web UI what the configuration allows. A configuration that cannot be read
// stops no command: a command that needs one reports the mistake itself.
func (g *Flags) client(temporal sdk.Client, queue string) *client.Client {
	c := client.New(temporal, queue).WithConverter(g.converter)
	if cfg, err := g.config(); err == nil && cfg != nil && cfg.UI.Content == config.NoContent {
		return c.WithoutUIContent()
	}
	return c
}

// AgentsOf is [Flags.Agents] for a command on an agent that exists already. Without the flag `--task-queue`, it asks Temporal for the task
// queue of the agent with the given ID; it needs no configuration file. A command that needs no task queue passes an empty ID.
func (g *Flags) AgentsOf(ctx context.Context, id string) (c *client.Client, queue string, done func(), err error) {
	temporal, err := g.Dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	queue = g.Queue
	if queue == "" && id != "" {
		if queue, err = g.client(temporal, "").TaskQueue(ctx, id); err != nil {
			temporal.Close()
			return nil, "", nil, WithExitCode(err, "")
		}
	}
	return g.client(temporal, queue), queue, temporal.Close, nil
}

// OnAgent returns the function RunE of a command on the agent whose ID is its first argument, or of a command without arguments on all
// agents. The function connects to Temporal as [Flags.AgentsOf] does, calls `do`, and adds an exit code to the error of `do`.
func (g *Flags) OnAgent(
	do func(cmd *cobra.Command, args []string, c *client.Client, queue string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		c, queue, done, err := g.AgentsOf(cmd.Context(), id)
		if err != nil {
			return err
		}
		defer done()
		return WithExitCode(do(cmd, args, c, queue), queue)
	}
}

// AgentOf is [Flags.AgentsOf] for a command that needs only one agent. The returned agent keeps what Temporal has said about it, so that
// the command does not ask again.
func (g *Flags) AgentOf(ctx context.Context, id string) (a *client.Agent, queue string, done func(), err error) {
	temporal, err := g.Dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	a, queue = g.client(temporal, g.Queue).Agent(id), g.Queue
	if queue == "" {
		if queue, err = a.TaskQueue(ctx); err != nil {
			temporal.Close()
			return nil, "", nil, WithExitCode(err, "")
		}
	}
	return a, queue, temporal.Close, nil
}

// AgentName returns the name of the agent that a command starts. `name` is the value of the flag `--agent`. If it is empty, AgentName
// returns the name of the only agent in the configuration. If it is not empty, AgentName returns it; the configuration, if there is one,
// must have an agent with this name. All errors have the code [exit.Usage].
func (g *Flags) AgentName(name string) (string, error) {
	cfg, err := g.config()
	if errors.As(err, new(*noConfigError)) && name != "" && g.Queue != "" {
		return name, nil // the flags give everything that AgentName and TaskQueue read from the configuration
	}
	if err != nil {
		return "", err
	}
	if cfg == nil {
		if name == "" {
			return "", exit.Errorf(exit.Usage, "no agent is named, and there is no configuration: name the agent with -a, or the configuration with --config")
		}
		return name, nil
	}
	names := slices.Sorted(maps.Keys(cfg.Agents))
	switch {
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", exit.Errorf(exit.Usage, "no agent is named, and the configuration has several: name the agent with -a, one of %s", strings.Join(names, ", "))
	case !slices.Contains(names, name):
		return "", exit.Errorf(exit.Usage, "the configuration has no agent %q; name one of its agents with -a: %s", name, strings.Join(names, ", "))
	}
	return name, nil
}
