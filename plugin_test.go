package reagent_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// offline returns a Temporal client that connects at its first use.
func offline(t *testing.T) client.Client {
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func valid() reagent.Options {
	return reagent.Options{
		Models: map[string]reagent.Model{"main": {Name: "gpt-4o-mini"}},
		Agents: []reagent.Agent{{Name: "clerk"}},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// New returns an error that names the mistake in the options.
func TestMistakeIsFoundBeforeTheWorkerStarts(t *testing.T) {
	echo := func(_ context.Context, in string) (string, error) { return in, nil }
	for want, change := range map[string]func(*reagent.Options){
		"define an agent": func(o *reagent.Options) { o.Agents = nil },
		`there is no model "big": use only these names in Model, Fallback and Choices: [main]`: func(o *reagent.Options) { o.Agents[0].Model = "big" },
		"Model.Platform is for the provider anthropic":                                         func(o *reagent.Options) { o.Models["main"] = reagent.Model{Name: "claude", Platform: anthropic.Vertex} },
		"BaseURL is empty; set the URL of the platform": func(o *reagent.Options) {
			o.Models["main"] = reagent.Model{Name: "claude", Provider: "anthropic", Platform: anthropic.Vertex}
		},
		"Model.Name is empty":                          func(o *reagent.Options) { o.Models["main"] = reagent.Model{} },
		`unknown tool "price"`:                         func(o *reagent.Options) { o.Agents[0].Tools = []string{"price"} },
		"must be a struct or a map":                    func(o *reagent.Options) { o.Tools = []reagent.Tool{reagent.Func("echo", "", reagent.ReadOnly, echo)} },
		`names the stateful MCP server "browser", but`: func(o *reagent.Options) { o.Elsewhere = []string{"browser"} },
		`check that "/nowhere" is installed`:           func(o *reagent.Options) { o.MCPServers = []mcp.Server{{Name: "files", Command: []string{"/nowhere"}}} },
		`there is no agent "helper": use only`:         func(o *reagent.Options) { o.Agents[0].Agents = []string{"helper"} },
		"agent clerk: limit Time is -1s":               func(o *reagent.Options) { o.Agents[0].Limits.Time = -time.Second },
		"limit ModelCalls is -1: set at":               func(o *reagent.Options) { o.Agents[0].Limits.ModelCalls = -1 },
		"agent clerk is defined twice":                 func(o *reagent.Options) { o.Agents = append(o.Agents, o.Agents[0]) },
		"invalid character 'x'":                        func(o *reagent.Options) { o.Agents[0].OutputSchema = []byte("x") },
	} {
		o := valid()
		change(&o)
		_, err := reagent.New(t.Context(), offline(t), o)
		require.ErrorContains(t, err, want)
	}
	_, err := reagent.New(t.Context(), nil, valid())
	require.ErrorContains(t, err, "client is nil")
}

// All mistakes come at once, each with a type that says where it is. What an agent misses because its server does not start is no mistake of
// the agent. No text has a secret.
func TestEveryMistakeHasItsPlace(t *testing.T) {
	const secret = "tok-0123456789abcdefghij"
	o := valid()
	o.Secrets = []string{secret}
	o.Models["other"] = reagent.Model{}
	o.MCPServers = []mcp.Server{{Name: "loud", Command: []string{"sh", "-c", "echo the token is " + secret + " >&2; exit 3"}}}
	o.Agents = []reagent.Agent{
		{Name: "clerk", Model: "main", Tools: []string{"loud.*", "price", "order"}, Agents: []string{"ask_user"}},
		{Name: "ask_user", Model: "other", Tools: []string{"ask_user"}, Approval: reagent.ApprovalPolicy{"wipe": reagent.ApprovalNever}},
	}
	_, err := reagent.New(t.Context(), offline(t), o)
	var model *reagent.ModelError
	require.ErrorAs(t, err, &model)
	require.Equal(t, "other", model.Model)
	var server *reagent.ServerError
	require.ErrorAs(t, err, &server)
	require.Equal(t, "loud", server.Server.Name)
	require.ErrorContains(t, server, "the server exited with code 3 before it answered; the server wrote:\n  the token is [hidden]")
	require.NotContains(t, server.Err.Error(), secret)
	var agent *reagent.AgentError
	require.ErrorAs(t, err, &agent)
	require.Equal(t, []string{"ask_user", "approval.wipe"}, []string{agent.Agent, agent.Field})
	require.Equal(t, []string{"model other", "mcp server loud", "agents.ask_user.approval.wipe", "agents.clerk.tools[1]", "agents.clerk.tools[2]"}, places(err))
}

// places returns the beginning of each line of an error that is about a place in the options.
func places(err error) (all []string) {
	for line := range strings.Lines(strings.TrimPrefix(err.Error(), "reagent: ")) {
		if place, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, " ") {
			all = append(all, place)
		}
	}
	return all
}

// A worker would never run the agents of another task queue.
func TestWorkerOfAnotherTaskQueueDoesNotStart(t *testing.T) {
	agents, err := reagent.New(t.Context(), offline(t), valid())
	require.NoError(t, err)
	w := worker.New(offline(t), "orders", worker.Options{Plugins: []worker.Plugin{agents}})
	require.ErrorContains(t, w.Start(), `the task queue "orders" and its agents are on "agents": set Options.TaskQueue`)
}

// The plugin sets only those options of the worker that are zero.
func TestPluginSetsWhatIsNotSet(t *testing.T) {
	agents, err := reagent.New(t.Context(), offline(t), valid())
	require.NoError(t, err)
	var o worker.Options
	configure := worker.PluginConfigureWorkerOptions{TaskQueue: "agents", WorkerOptions: &o}
	require.NoError(t, agents.ConfigureWorker(t.Context(), configure))
	require.Positive(t, o.StickyScheduleToStartTimeout)
	require.Positive(t, o.WorkerStopTimeout)
	require.NotNil(t, o.WorkflowTaskPollerBehavior)
	require.Contains(t, o.Identity, " definitions ")

	o = worker.Options{Identity: "mine", WorkerStopTimeout: 1, MaxConcurrentWorkflowTaskPollers: 7}
	require.NoError(t, agents.ConfigureWorker(t.Context(), configure))
	require.Equal(t, "mine", o.Identity)
	require.EqualValues(t, 1, o.WorkerStopTimeout)
	require.Nil(t, o.WorkflowTaskPollerBehavior, "the SDK allows only one of both options")
}

// A second worker with the same plugin does not start, and does not stop the MCP servers of the first.
func TestSecondWorkerDoesNotStart(t *testing.T) {
	agents, err := reagent.New(t.Context(), offline(t), valid())
	require.NoError(t, err)
	options := worker.Options{Plugins: []worker.Plugin{agents}}
	worker.New(offline(t), "agents", options)
	second := worker.New(offline(t), "agents", options)
	require.ErrorContains(t, second.Start(), "this Plugin was started before, or belongs to another worker: call New once for each worker")
	second.Stop()
}

// A program's own log gets the stderr of MCP servers at the level Debug. It must not get the secrets of the options.
func TestAttackLogOfAProgramHasNoSecret(t *testing.T) {
	const secret = "tok-0123456789abcdefghij"
	var log bytes.Buffer
	o := valid()
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Secrets = []string{secret}
	o.MCPServers = []mcp.Server{{Name: "loud", Command: []string{"sh", "-c", "echo the token is " + secret + " >&2"}}}
	_, err := reagent.New(t.Context(), offline(t), o)
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
	require.Contains(t, log.String(), "the token is [hidden]")
	require.NotContains(t, log.String(), secret)
}

// storage is a driver of external storage. It stores nothing.
type storage struct{ converter.StorageDriver }

func (storage) Name() string { return "none" }

func (storage) Type() string { return "none" }

// With external storage, a history has references in place of payloads. Whoever reads it could not follow them, so neither a worker nor a
// client of agents begins.
func TestExternalStorageIsRefused(t *testing.T) {
	options := client.Options{HostPort: "127.0.0.1:1", ExternalStorage: converter.ExternalStorage{Drivers: []converter.StorageDriver{storage{}}}}
	temporal, err := client.NewLazyClient(options)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	const want = "the Temporal client has ExternalStorage: with it, agents could not be shown, resumed or forked, "
	_, err = reagent.New(t.Context(), temporal, valid())
	require.ErrorContains(t, err, "reagent: "+want)
	_, err = reagent.NewClient(temporal, "").Start(t.Context(), reagent.StartOptions{ID: "x", Agent: "clerk", Message: "go"})
	require.ErrorContains(t, err, `start agent "x": `+want)
	options.Plugins = []client.Plugin{reagent.NewClientPlugin()}
	_, err = client.NewLazyClient(options)
	require.ErrorContains(t, err, "reagent: "+want)
}
