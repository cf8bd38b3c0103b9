package world

import (
	"context"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/workflows"
)

// Worker starts a worker process with the given arguments, and waits until it is ready.
func (w *World) Worker(args ...string) *Process {
	p := w.Start("worker", append([]string{"--config", w.Config}, args...)...)
	w.Eventually("the worker is ready", func() bool {
		if p.Ended() {
			require.FailNow(w.T, "the worker ended", p.Output())
		}
		return strings.Contains(p.Output(), "Ready.")
	})
	return p
}

// WorkerHere starts a worker in the process of the test. The returned function stops the worker. Unlike a worker process, this
// worker can have settings that a configuration file does not have. The function change can change the definition of an agent
// before the agent gets it.
func (w *World) WorkerHere(o worker.Options, change func(*agent.Definition), agents ...activities.Agent) (stop func()) {
	main, err := openai.New(openai.Options{Name: "main", BaseURL: w.Model.URL, APIKey: "none"})
	require.NoError(w.T, err)
	options, err := dial.ClientOptions("", "")
	require.NoError(w.T, err)
	doing, err := activities.New(activities.Options{
		Temporal: w.Temporal, Agents: agents, Converter: options.DataConverter, Tools: w.Registry,
		Models: map[string]activities.Model{"main": {Client: main, Model: "scripted"}},
	})
	require.NoError(w.T, err)
	here := worker.New(w.Temporal, w.Queue, o)
	workflows.New(workflows.Options{}).Register(here)
	doing.Register(here)
	here.RegisterActivityWithOptions(func(ctx context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
		d, err := doing.LoadAgent(ctx, in)
		change(&d)
		return d, err
	}, activity.RegisterOptions{Name: protocol.LoadAgent, DisableAlreadyRegisteredCheck: true})
	require.NoError(w.T, here.Start())
	stop = sync.OnceFunc(here.Stop)
	w.T.Cleanup(stop)
	return stop
}
