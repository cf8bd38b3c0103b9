package children_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A token limit holds for an agent and its sub-agents together. Each sub-agent gets a share of the limit, and the
// tokens that it uses count for its parent.
func TestBudgetHoldsOverTheTree(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"1+1"}`)) // the clerk never answers
		if req.Messages[0].Content != "You count." {
			reply = llmtest.Call(llmtest.ToolCall("1", "clerk", fmt.Sprintf(`{"task":"count %d"}`, world.Asked(req))))
		}
		reply.Usage = llm.Usage{InputTokens: 100}
		return reply, nil
	}, nil, "    agents: [clerk]\n    limits: {tokens: 2000}\n  clerk:\n    model: main\n    instructions: You count.\n    tools: [calculator]\n")
	w.Worker()
	_, errs, code := w.Starter("run", "-a", "x", "--id", t.Name(), "ask the clerk")
	require.Equal(t, 6, code, errs)
	s := w.Show(t.Name())
	require.Contains(t, s.Answer, "this agent reached its limit of 2000 tokens (limits.tokens)")
	require.Greater(t, len(s.Children), 1)
	var tree struct {
		Spent struct {
			InputTokens int `json:"input_tokens"`
		} `json:"spent"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.Must("show", "--json", t.Name())), &tree))
	require.Equal(t, 100*len(w.Model.Requests()), tree.Spent.InputTokens, "what the tree spent is what the model was asked")
	require.LessOrEqual(t, tree.Spent.InputTokens, 2200)
	require.GreaterOrEqual(t, tree.Spent.InputTokens, 1900)
}

// If the worker dies while a sub-agent runs, the sub-agent goes on with the next worker, and the parent gets its
// answer.
func TestSubAgentGoesOnWhenItsParentsWorkerDies(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := familyWorld(t, g)
	first := w.Worker()
	w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	g.Wait(t)
	first.Kill()
	w.Worker()
	w.Finished(t.Name(), "the clerk says: counted")
	require.Equal(t, []int{1, 1, 2}, world.Values(w.Requests()), "the clerk's one request was in flight")
	s := w.Show(t.Name())
	require.Len(t, s.Children, 1)
	require.Equal(t, "completed", s.Children[0].Status)
	require.Equal(t, "clerk", s.Children[0].Agent)
	require.Equal(t, "tool: counted", s.Lines()[2])
	require.Equal(t, []string{"user: count", "assistant: counted"}, w.Show(s.Children[0].ID).Lines())
}

// A cancel of an agent reaches its sub-agent. If the agent is resumed, it goes on with the call, and is told once what became of the
// sub-agent.
func TestCancelReachesTheSubAgent(t *testing.T) {
	g := world.NewGate()
	w := familyWorld(t, g)
	w.Worker()
	w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	g.Wait(t)
	// The Web UI cancels in the same way: it asks only the agent itself.
	require.NoError(t, w.Temporal.CancelWorkflow(t.Context(), t.Name(), ""))
	w.Eventually("the agent is cancelled", func() bool { return w.Show(t.Name()).Status == "cancelled" })
	s := w.Show(t.Name())
	require.Len(t, s.Children, 1)
	w.Eventually("the sub-agent is cancelled", func() bool { return w.Show(s.Children[0].ID).Status == "cancelled" })
	require.Len(t, s.Messages, 2, "the call is open")
	require.Len(t, s.Pending, 1)

	w.Must("resume", "--message", "go on", t.Name())
	w.Eventually("the agent has answered", func() bool { return w.Show(t.Name()).Status == "completed" })
	lines := w.Show(t.Name()).Lines()
	require.Contains(t, lines[2], "ended without an answer: it was cancelled")
	require.Equal(t, "user: go on", lines[3])
	for key, n := range w.Requests() {
		require.Equal(t, 1, n, key)
	}
}

// If an agent completes while its sub-agent is running, the sub-agent is cancelled. With keep_agents, the sub-agent
// goes on.
// The time limit leaves a busy machine enough time to start the sub-agent.
func TestFinishCancelsWhatNobodyWaitsFor(t *testing.T) {
	for keep, status := range map[bool]string{false: "cancelled", true: "completed"} {
		t.Run(status, func(t *testing.T) {
			g := world.NewGate()
			w := familyWorld(t, g, fmt.Sprintf("    limits: {time: 4s}\n    keep_agents: %v\n", keep))
			w.Worker()
			w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
			w.Eventually("the agent's time is up", func() bool { return w.Show(t.Name()).Status == "completed" })
			close(g.Open)
			s := w.Show(t.Name())
			require.Len(t, s.Children, 1)
			w.Eventually("the sub-agent ends", func() bool { return w.Show(s.Children[0].ID).Status == status })
		})
	}
}

// familyWorld returns a world in which the agent x asks its sub-agent clerk. The model call of clerk waits at the gate
// g. The texts in the parameter extra are added to the configuration of x.
func familyWorld(t *testing.T, g *world.Gate, extra ...string) *world.World {
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			return llmtest.Say("counted"), nil
		}
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		return llmtest.Say("the clerk says: " + req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "    agents: [clerk]\n"+strings.Join(extra, "")+"  clerk:\n    model: main\n    description: counts\n    instructions: You count.\n")
	return w
}
