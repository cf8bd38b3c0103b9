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

// A parent that is reset or resumed finds its sub-agent again, and does not start it a second time. The sub-agent may
// be running or may have finished.
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
		"parent terminated, sub-agent finished, parent reset after the start": {false, func(w *world.World, id string) {
			s := w.Show(id)
			require.NoError(w.T, w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "test"))
			w.OpenGate()
			w.Finished(s.Children[0].ID, "counted")
			w.Reset(id, "", w.TaskCount(id, "")) // no run has the answer, and Temporal does not report the end to this one
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

// If a sub-agent takes longer than the time budget of the call, the call is interrupted and the sub-agent goes on. If
// the model makes the same call again, it gets the answer of this sub-agent. No second sub-agent is started.
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
		case strings.Contains(last.Content, "no result yet: no answer within 1 second; the agent works on"):
			if world.Asked(req) == 2 { // after the second call without an answer, the answer may come
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
	require.Contains(t, s.Lines()[2], "no result yet: no answer within 1 second")
	require.NotZero(t, s.Usage["model_calls"])
}
