package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// agents connects to Temporal and returns the client of agents on the task queue of the flag, or of the configuration.
// The caller calls done at the end.
func (g *globals) agents(ctx context.Context) (c *client.Client, queue string, done func(), err error) {
	if queue, err = g.taskQueue(); err != nil {
		return nil, "", nil, err
	}
	temporal, err := g.dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	return client.New(temporal, queue).WithConverter(g.converter), queue, temporal.Close, nil
}

// agentsOf is agents for a command about an agent that there is: the task queue is the agent's own where the flag names none. It
// reads no configuration. An empty ID is for commands that need no task queue.
func (g *globals) agentsOf(ctx context.Context, id string) (c *client.Client, queue string, done func(), err error) {
	temporal, err := g.dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	queue = g.queue
	if queue == "" && id != "" {
		if queue, err = client.New(temporal, "").WithConverter(g.converter).TaskQueue(ctx, id); err != nil {
			temporal.Close()
			return nil, "", nil, withExitCode(err, "")
		}
	}
	return client.New(temporal, queue).WithConverter(g.converter), queue, temporal.Close, nil
}

// agentName returns the agent that a person means: the named one, or the only one
// of the configuration.
func (g *globals) agentName(name string) (string, error) {
	cfg, err := g.config()
	if errors.As(err, new(*noConfigError)) && name != "" && g.queue != "" {
		return name, nil // all that the configuration would tell was given
	}
	if err != nil {
		return "", err
	}
	if cfg == nil {
		if name == "" {
			return "", exitf(exitUsage, "name the agent with -a, or the configuration with --config")
		}
		return name, nil
	}
	names := slices.Sorted(maps.Keys(cfg.Agents))
	switch {
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", exitf(exitUsage, "name the agent with -a: the configuration has %s", strings.Join(names, ", "))
	case !slices.Contains(names, name):
		return "", exitf(exitUsage, "the configuration has no agent %q; it has %s", name, strings.Join(names, ", "))
	}
	return name, nil
}

// text returns what a person wrote: the arguments, or standard input for "-" and where there are no arguments. What
// is too long is refused before it is read to its end.
func text(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 1 || len(args) == 1 && args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	if file, ok := cmd.InOrStdin().(*os.File); ok && len(args) == 0 && term.IsTerminal(file.Fd()) {
		return "", exitf(exitUsage, "the text is missing: give it as arguments, or on standard input; see `%s --help`", cmd.CommandPath())
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), agent.MaxMessageBytes+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) == 0 {
		return "", exitf(exitUsage, "the text is missing: give it as arguments; standard input is empty")
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

// withExitCode gives the errors of the client the exit codes and the next steps that go with them.
func withExitCode(err error, queue string) error {
	var closed *client.ClosedError
	var exit *exitError
	switch {
	case err == nil, errors.As(err, &exit):
		return err
	case errors.Is(err, client.ErrNotFound):
		return exitf(exitWrongState, "%w: `starter list` shows the agents; Temporal forgets those that ended when the namespace's retention has passed", err)
	case errors.As(err, &closed):
		return exitf(exitWrongState, "%w: %s", err, goOnFrom(closed.ID, closed.Status))
	case errors.Is(err, client.ErrRunning):
		return exitf(exitWrongState, "%w: end it first with `starter cancel`, or let it finish with `starter close`", err)
	case errors.Is(err, client.ErrNoNamespace):
		return exitf(exitUnreachable, "%w: name another with --namespace or TEMPORAL_NAMESPACE, or create it with `temporal operator namespace create --namespace NAME`", err)
	case errors.Is(err, client.ErrNoServer):
		return exitf(exitUnreachable, "%w; check that Temporal runs, and the address: --address or TEMPORAL_ADDRESS", err)
	case errors.Is(err, client.ErrNoWorker):
		return exitf(exitUnreachable, "%w on task queue %q: start one with `%s`", err, queue, startWorker)
	case errors.Is(err, client.ErrRefused):
		return exitf(exitWrongState, "%w", err)
	case errors.Is(err, agent.ErrMessage):
		return exitf(exitUsage, "%w", err)
	}
	return err
}
