package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// World is one test's surroundings: a model, tools, a configuration, workers.
type World struct {
	// T is the test.
	T testing.TB
	// Queue is the task queue of the workers.
	Queue string
	// Config is the path of the configuration that WriteConfig has written.
	Config string
	// Model is the model endpoint.
	Model *llmtest.Server
	// Tools is the server of the tools; nil means none.
	Tools *ToolServer
	// Registry holds the tools of a worker in the test's own process; nil means none.
	Registry *tool.Registry
	// Client is a client for the agents on Queue.
	Client *reagent.Client
	// OpenGate lets pass what a test holds, where more than one place may say so.
	OpenGate func()
	// Address and Temporal are those of the shared server, but for tests with one of their own.
	Address  string
	Temporal sdk.Client
}

// New serves the model and the tools and writes a configuration. Extra is
// added to the agent x, indented as its fields are; with is told of the model before it serves.
func New(
	t testing.TB, model func(context.Context, llm.Request) (llm.Reply, error), tools *ToolServer, extra string, with ...func(*llmtest.Endpoint),
) *World {
	far := &llmtest.Endpoint{Client: llmtest.Func(model)}
	for _, f := range with {
		f(far)
	}
	w := &World{T: t, Queue: "q-" + strings.ReplaceAll(t.Name(), "/", "-"), Model: far.Serve(), Tools: tools,
		Address: Server.Address(), Temporal: Temporal}
	t.Cleanup(w.Model.Close)
	yaml := fmt.Sprintf(`task_queue: %s
models:
  main: {model: scripted, base_url: %q}
`, w.Queue, w.Model.URL)
	fields := "    model: main\n" + extra
	if tools != nil {
		yaml += fmt.Sprintf("mcp_servers:\n  far: {url: %q}\n", tools.URL)
		if !strings.Contains(extra, "tools:") {
			fields += "    tools: [far.*]\n"
		}
	}
	w.WriteConfig(yaml + "agents:\n  x:\n" + fields)
	w.Client = AgentsOf(Temporal, w.Queue)
	return w
}

// MoveTo makes workers and commands that are started later, and the clients of w, use another server than the shared one.
func (w *World) MoveTo(own *devserver.Server) {
	options, err := config.ClientOptions(own.Address(), "")
	require.NoError(w.T, err)
	c, err := sdk.Dial(options)
	require.NoError(w.T, err)
	w.T.Cleanup(c.Close)
	w.Address, w.Temporal, w.Client = own.Address(), c, AgentsOf(c, w.Queue)
}

// WriteConfig writes a configuration for workers that are started later.
func (w *World) WriteConfig(yaml string) {
	w.Config = filepath.Join(w.T.TempDir(), "agents.yaml")
	require.NoError(w.T, os.WriteFile(w.Config, []byte(yaml), 0o600))
}

// AgentsOf returns a client for the agents on a queue. It reads what the codec of the environment wrote.
func AgentsOf(c sdk.Client, queue string) *reagent.Client {
	options, err := config.ClientOptions("", "")
	if err != nil {
		panic(err)
	}
	return reagent.New(c, queue).WithConverter(options.DataConverter)
}
