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
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// World is what one end-to-end test works with: a model endpoint, tools, a configuration file for workers, and clients.
type World struct {
	// T is the test.
	T testing.TB
	// Queue is the task queue of the workers.
	Queue string
	// Config is the path of the configuration file that [World.WriteConfig] has written.
	Config string
	// Model is the model endpoint.
	Model *standin.Server
	// Tools is the server of the tools; nil means none.
	Tools *ToolServer
	// Registry has the tools for [World.WorkerHere]; nil means none.
	Registry *tool.Registry
	// Client is a client for the agents on Queue.
	Client *reagent.Client
	// OpenGate is for a test that opens a [Gate] at several places. The test sets it to a function that may be called repeatedly.
	OpenGate func()
	// Address is the address of the Temporal server, and Temporal is a client for it. This is [Server], or the server of
	// [World.MoveTo].
	Address  string
	Temporal sdk.Client
}

// New starts a model endpoint that answers with the function in the parameter model, and writes a configuration file with the
// agent x. The agent can call the tools of the server in the parameter tools; nil means no tools. The YAML text in the
// parameter extra is added to the configuration of the agent x, so it must be indented like the fields of x. The functions in
// with can change the endpoint before it starts.
func New(
	t testing.TB, model func(context.Context, llm.Request) (llm.Reply, error), tools *ToolServer, extra string, with ...func(*standin.Endpoint),
) *World {
	far := &standin.Endpoint{Client: llmtest.Func(model)}
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

// MoveTo makes w use the Temporal server in the parameter own instead of [Server]. It replaces the clients of w. Workers and
// commands use the new server if they are started later.
func (w *World) MoveTo(own *devserver.Server) {
	options, err := dial.ClientOptions(own.Address(), "")
	require.NoError(w.T, err)
	c, err := sdk.Dial(options)
	require.NoError(w.T, err)
	w.T.Cleanup(c.Close)
	w.Address, w.Temporal, w.Client = own.Address(), c, AgentsOf(c, w.Queue)
}

// WriteConfig writes a configuration file for the workers that are started later. The parameter yaml is its content.
func (w *World) WriteConfig(yaml string) {
	w.Config = filepath.Join(w.T.TempDir(), "agents.yaml")
	require.NoError(w.T, os.WriteFile(w.Config, []byte(yaml), 0o600))
}

// AgentsOf returns a client for the agents on the given task queue. If the environment names a codec server, as after
// [UseCodec], the client uses it.
func AgentsOf(c sdk.Client, queue string) *reagent.Client {
	options, err := dial.ClientOptions("", "")
	if err != nil {
		panic(err)
	}
	return reagent.New(c, queue).WithConverter(options.DataConverter)
}
