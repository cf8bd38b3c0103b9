package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// agents connects to Temporal and returns the client of agents on the task queue.
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

// agentName returns the agent that a person means: the named one, or the only one
// of the configuration.
func (g *globals) agentName(name string) (string, error) {
	cfg, err := g.config()
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

// text returns what a person wrote: the arguments, or standard input for "-". What
// is too long is refused before it is read to its end.
func text(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), agent.MaxMessageBytes+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

// coded gives the errors of the client the exit codes and the next steps that go with them.
func coded(err error, queue string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrNotFound):
		return exitf(exitWrongState, "%w: `starter list` shows the agents; Temporal forgets those that ended when the namespace's retention has passed", err)
	case errors.Is(err, client.ErrClosed):
		return exitf(exitWrongState, "%w: `starter show` still shows what it did, and `starter resume` lets it go on", err)
	case errors.Is(err, client.ErrRunning):
		return exitf(exitWrongState, "%w: end it first with `starter cancel`, or let it finish with `starter close`", err)
	case errors.Is(err, client.ErrNoNamespace):
		return exitf(exitUnreachable, "%w: name another with --namespace or TEMPORAL_NAMESPACE, or create it with `temporal operator namespace create --namespace NAME`", err)
	case errors.Is(err, client.ErrNoWorker):
		return exitf(exitUnreachable, "%w on task queue %q: start one with `go run ./cmd/worker --config agents.yaml`", err, queue)
	case errors.Is(err, client.ErrRefused):
		return exitf(exitWrongState, "%w", err)
	case errors.Is(err, agent.ErrMessage):
		return exitf(exitUsage, "%w", err)
	}
	return err
}
