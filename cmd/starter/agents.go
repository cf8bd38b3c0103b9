package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
)

// agents connects to Temporal and returns a client that can start agents. The second result is the task queue of this client;
// see [globals.taskQueue]. The third result is a function that closes the connection. The caller must call this function.
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

// agentsOf connects to Temporal for a command on an agent that exists already. It returns the same kinds of results as
// [globals.agents]. Only the choice of the task queue differs. The flag `--task-queue` sets the task queue. Without this
// flag, agentsOf asks Temporal for the task queue of the agent with the given ID. It reads no configuration file. A command
// that needs no task queue passes an empty ID.
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

// agentName returns the name of the agent that a command has to start. Its argument is the value of the flag `--agent`. If
// this value is not empty, agentName returns the value. The configuration, if there is one, must then have an agent with this
// name. If the value is empty, the configuration must have exactly one agent, and agentName returns the name of this agent.
// All errors have the code [exit.Usage].
func (g *globals) agentName(name string) (string, error) {
	cfg, err := g.config()
	if errors.As(err, new(*noConfigError)) && name != "" && g.queue != "" {
		return name, nil // the flags give everything that agentName and taskQueue read from the configuration
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

// withExitCode prepares an error of package client for the user. It adds an exit code and, in most cases, a text that says
// what the user can do next. It returns other errors unchanged. The text for [client.ErrNoWorker] names the given task queue.
func withExitCode(err error, queue string) error {
	var closed *client.ClosedError
	var coded *exit.Error
	switch {
	case err == nil, errors.As(err, &coded):
		return err
	case errors.Is(err, client.ErrNotFound):
		return exit.Errorf(exit.WrongState, "%w: `starter list` shows the agents; after its end, Temporal keeps an agent only for the namespace's retention", err)
	case errors.As(err, &closed):
		return exit.Errorf(exit.WrongState, "%w: %s", err, goOnFrom(closed.ID, closed.Status))
	case errors.Is(err, client.ErrRunning):
		return exit.Errorf(exit.WrongState, "%w: end it first with `starter cancel`, or let it finish with `starter close`", err)
	case errors.Is(err, client.ErrNoNamespace):
		return exit.Errorf(exit.Unreachable, "%w: name another namespace with --namespace or TEMPORAL_NAMESPACE, or create it with `temporal operator namespace create --namespace NAME`", err)
	case errors.Is(err, client.ErrNoServer):
		return exit.Errorf(exit.Unreachable, "%w; check that Temporal runs, and the address: --address or TEMPORAL_ADDRESS", err)
	case errors.Is(err, client.ErrNoWorker):
		return exit.Errorf(exit.Unreachable, "%w on task queue %q: start a worker with `%s`", err, queue, progress.StartWorker)
	case errors.Is(err, client.ErrRefused):
		return exit.Errorf(exit.WrongState, "%w", err)
	case errors.Is(err, agent.ErrMessage):
		return exit.Errorf(exit.Usage, "%w", err)
	}
	return err
}
