package children_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A sub-agent is found again, running or finished, whatever happens to its parent.
func TestSubAgentIsFoundAgain(t *testing.T) {
	for name, c := range map[string]struct {
		finished bool
		disturb  func(w *world.World, id string)
	}{
		"parent reset, sub-agent runs":     {false, func(w *world.World, id string) { w.Reset(id, "", 1) }},
		"parent reset after the start":     {false, func(w *world.World, id string) { w.Reset(id, "", 3) }},
		"parent reset, sub-agent finished": {true, func(w *world.World, id string) { w.Reset(id, "", 1) }},
		"parent reset after the start, and the same run again": {false, func(w *world.World, id string) {
			first := w.RunID(id)
			w.Reset(id, first, w.TaskCount(id, first))
			w.OpenGate()
			w.Finished(id, "the clerk says: counted")
			w.Reset(id, first, w.TaskCount(id, first))
		}},
		"parent terminated and resumed": {false, func(w *world.World, id string) {
			require.NoError(w.T, w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "test"))
			w.Must("resume", "--detach", id)
		}},
		"parent terminated, sub-agent finished, parent resumed": {false, func(w *world.World, id string) {
			s := w.Show(id)
			require.NoError(w.T, w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "test"))
			w.OpenGate()
			w.Finished(s.Children[0].ID, "counted")
			w.Must("resume", "--detach", id)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := world.NewGate()
			w := familyWorld(t, g)
			w.OpenGate = sync.OnceFunc(func() { close(g.Open) })
			w.Worker()
			id := strings.ReplaceAll(t.Name(), "/", "-")
			w.Must("run", "--detach", "-a", "x", "--id", id, "ask the clerk")
			g.Wait(t)
			if c.finished {
				w.OpenGate()
				w.Finished(id, "the clerk says: counted")
			}
			c.disturb(w, id)
			w.OpenGate()
			w.Finished(id, "the clerk says: counted")
			w.NothingTwice()
			require.Len(t, w.Requests(), 3)
			s := w.Show(id)
			require.Len(t, s.Children, 1)
			require.Equal(t, "tool: counted", s.Lines()[2])
		})
	}
}

// A sub-agent that takes longer than its budget is interrupted and goes on. The model asks
// again, with the same words, and gets the same one; it runs once.
func TestInterruptedSubAgentIsAskedForAgain(t *testing.T) {
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			return llmtest.Say("counted"), nil
		}
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		case strings.Contains(last.Content, "interrupted: no answer within 1 second; the agent works on"):
			if world.Asked(req) == 2 { // patient once, then the answer may come
				close(g.Open)
			}
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		return llmtest.Say("the clerk says: " + last.Content), nil
	}, nil, "")
	w.WorkerHere(worker.Options{}, patient(1000),
		activities.Agent{Name: "x", Model: "main", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "clerk", Model: "main", Instructions: "You count."},
	)
	w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	w.Eventually("it ends", func() bool { return w.Show(t.Name()).Status == "completed" })
	s := w.Show(t.Name())
	require.Len(t, s.Children, 1)
	require.Contains(t, s.Lines()[2], "interrupted: no answer within 1 second")
	require.NotZero(t, s.Usage["model_calls"])
}
