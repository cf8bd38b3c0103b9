package recovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// counterEnv is the name of an environment variable. If it is set, this test binary is the counter server: an MCP
// server over standard input and output, whose only tool counts its calls in memory.
const counterEnv = "E2E_COUNTER_SERVER"

// counterWorld returns a world in which the agent x has the tool of the counter server (see [counterEnv]). The server
// is stateful, so only one worker runs it.
func counterWorld(t *testing.T, model func(context.Context, llm.Request) (llm.Reply, error)) *world.World {
	self, err := os.Executable()
	require.NoError(t, err)
	w := world.New(t, model, nil, "")
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  main: {model: m, base_url: %q}
mcp_servers:
  counter: {command: [%q], env: {%s: "1"}, stateful: true}
agents:
  x: {model: main, tools: [counter.*]}
`, w.Queue, w.Model.URL, self, counterEnv))
	return w
}

// serveCounter runs the counter server (see [counterEnv]) until its standard input is closed.
func serveCounter() {
	s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
	n := 0
	s.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(n)}}}, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A stateful MCP server runs in one worker. Every call reaches its process, whichever worker serves the agent.
func TestStatefulServerIsOneProcess(t *testing.T) {
	w := counterWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := world.Asked(req); n < 8 {
			return llmtest.Call(llmtest.ToolCall("1", "count", fmt.Sprintf(`{"n":%d}`, n))), nil
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	})
	host := w.Worker()
	other := w.Worker("--stateful", "none")
	require.Contains(t, host.Output(), "counter: count (stateful, runs here)")
	require.Contains(t, other.Output(), "counter: count (stateful, runs in another worker)")
	w.Must("run", "--id", t.Name(), "count to eight")
	require.Equal(t, "8", w.Show(t.Name()).Answer)
}

// A worker in development mode that takes another prompt keeps the process of a stateful MCP server. It starts one anew whose settings have
// changed.
func TestChangedPromptKeepsAStatefulServer(t *testing.T) {
	w := counterWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.User {
			return llmtest.Call(llmtest.ToolCall("1", "count", fmt.Sprintf(`{"n":%d}`, len(req.Messages)))), nil
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	})
	worker := w.Worker("--dev")
	change := func(old, changed string) {
		t.Helper()
		before := strings.Count(worker.Output(), "has changed; ")
		text, err := os.ReadFile(w.Config)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(w.Config, []byte(strings.Replace(string(text), old, changed, 1)), 0o600))
		w.Eventually("the worker has the change", func() bool { return strings.Count(worker.Output(), "has changed; ") > before })
	}
	require.Equal(t, "1\n", w.Must("run", "-q", "one"))
	change("model: main,", "model: main, instructions: Count.,")
	require.Equal(t, "2\n", w.Must("run", "-q", "two"))
	change("stateful: true", "stateful: true, timeout: 5s")
	require.Equal(t, "1\n", w.Must("run", "-q", "three"))
}
