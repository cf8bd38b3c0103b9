package history_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Each tool call gets the metadata of the agent and of the message of its turn, also that of a sub-agent, after a crash, a reset, a resume, a
// continue-as-new and in a fork. No model gets it. Agents are found by it.
func TestToolsGetMetadata(t *testing.T) {
	t.Parallel()
	attributes := protocol.AttributeTypes()
	attributes["Customer"] = "Keyword"
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: attributes})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	// The message "who ann" makes two calls of who: one by the agent, and one by its sub-agent.
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == llm.User && req.Messages[0].Content == "You ask.":
			return llmtest.Call(llmtest.ToolCall("1", "who", `{"asks":"clerk"}`)), nil
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "who", `{"asks":"x"}`), llmtest.ToolCall("2", "clerk", `{"task":"`+last.Content+`"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	var mu sync.Mutex
	seen := map[string]int{} // the metadata of the calls
	tools := world.NewToolServer(t)
	tools.AddTool(&mcp.Tool{Name: "who", InputSchema: world.AnyObject}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		metadata, err := json.Marshal(r.Params.Meta["reagent.dev/metadata"])
		mu.Lock()
		defer mu.Unlock()
		seen[string(metadata)]++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, err
	})
	calls := func(user string) int {
		mu.Lock()
		defer mu.Unlock()
		return seen[`{"Customer":"42","user":"`+user+`"}`]
	}
	w.MoveTo(own)
	w.WriteConfig("task_queue: " + w.Queue + `
models: {main: {model: m, base_url: "` + w.Model.URL + `"}}
mcp_servers: {far: {url: "` + tools.URL + `"}}
agents:
  x: {model: main, tools: [far.who], agents: [clerk]}
  clerk: {model: main, tools: [far.who], instructions: You ask.}
`)
	chat, fork := t.Name()+"-chat", t.Name()+"-fork"
	first := w.Worker()
	w.Must("run", "--chat", "-a", "x", "--id", chat, "--metadata", "Customer=42", "--searchable", "Customer", "--metadata", "user=nobody", "who nobody")
	w.Must("send", chat, "--metadata", "user=ann", "who ann")
	first.Kill()
	w.Worker()
	w.Must("send", chat, "--metadata", "user=bob", "who bob")
	w.Roll(chat)
	w.Must("send", chat, "who nobody again")
	require.Equal(t, []int{4, 2, 2}, []int{calls("nobody"), calls("ann"), calls("bob")}, "a message without metadata gets none of an earlier one")

	before := w.Show(chat).Lines()
	w.Reset(chat, "", 2)
	w.Eventually("the agent is where it was", func() bool {
		s := w.Show(chat)
		return s.Status == "waiting" && slices.Equal(s.Lines(), before)
	})
	w.TerminateAgent(chat)
	w.Must("resume", chat, "--message", "who after all")
	require.Equal(t, 6, calls("nobody"))
	w.Must("fork", chat, "--at", "1", "--id", fork)
	w.Eventually("the fork answers", func() bool { return w.Show(fork).Status == "waiting" })
	require.Equal(t, 8, calls("nobody"))
	w.Must("send", fork, "--metadata", "user=eve", "who eve")
	require.Equal(t, 2, calls("eve"))
	require.Len(t, seen, 4, "%v", slices.Collect(maps.Keys(seen)))

	require.ElementsMatch(t, []string{chat, fork}, slices.DeleteFunc(w.Listed("--metadata", "Customer=42"), func(id string) bool { return strings.Contains(id, "clerk") }))
	require.Empty(t, w.Listed("--metadata", "Customer=43"))
	found(w, `Customer = "42" AND ReagentAgent = "x" AND ExecutionStatus = "Running"`, 2)
	found(w, `Customer = "42" AND ReagentAgent = "clerk"`, 7)
	require.Contains(t, w.Must("show", chat), "Customer: 42")
	for _, r := range w.Model.Requests() {
		require.NotContains(t, string(r.Body), "42")
	}
	_, stderr, code := w.Starter("run", "-a", "x", "--metadata", "Client=42", "--searchable", "Client", "who")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "Client")
}
