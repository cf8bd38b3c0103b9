package children_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// treeModel returns the scripted model of three agents: x asks its sub-agent clerk, clerk asks its sub-agent scribe,
// and the model call of scribe waits at the gate g. The answer of x or clerk contains the answer of its sub-agent. The
// agent that the parameter broken names gets an error in place of its answer; "" means none.
func treeModel(g *world.Gate, broken string) func(context.Context, llm.Request) (llm.Reply, error) {
	return func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1].Content
		name, below := req.Messages[0].Content, map[string]string{"x": "clerk", "clerk": "scribe"}[req.Messages[0].Content]
		switch {
		case name == "scribe":
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			last = "counted"
		case world.Asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", below, `{"task":"count"}`)), nil
		default:
			last = "the " + below + " says: " + last
		}
		if name == broken {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "no"}
		}
		return llmtest.Say(last), nil
	}
}

const treeAgents = `    instructions: x
    agents: [clerk]
  clerk: {model: main, instructions: clerk, agents: [scribe]}
  scribe: {model: main, instructions: scribe}
`

// startTree starts the agent x, and waits until the model call of scribe waits at the gate g. It returns the IDs of
// clerk, the sub-agent of x, and of scribe, the sub-agent of clerk. The parameter timeout limits each run of x; 0 means
// no limit.
func startTree(w *world.World, g *world.Gate, id string, timeout time.Duration) (clerk, scribe string) {
	in := agent.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: "first", Text: "ask the clerk"}}
	_, err := w.Temporal.ExecuteWorkflow(w.T.Context(), sdk.StartWorkflowOptions{
		ID: id, TaskQueue: w.Queue, WorkflowRunTimeout: timeout, Memo: workflows.Memo(in),
	}, protocol.AgentWorkflow, in)
	require.NoError(w.T, err)
	g.Wait(w.T)
	clerk = w.Show(id).Children[0].ID
	return clerk, w.Show(clerk).Children[0].ID
}

func terminateRun(w *world.World, id string) {
	require.NoError(w.T, w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "test"))
}

// attached waits until an agent waits for its sub-agent again, after a reset, a resume or a continue-as-new of the
// agent. The parameter child, the ID of the sub-agent, appears only in the error of the test.
func attached(w *world.World, id, child string) {
	w.Eventually(id+" waits for "+child, func() bool {
		found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
		require.NoError(w.T, err)
		for _, a := range found.GetPendingActivities() {
			if a.GetActivityType().GetName() == protocol.AwaitAgent && a.GetAttempt() > 1 {
				return true
			}
		}
		return false
	})
}

// In a tree of three agents, the upper two may be reset, continued as new or resumed while they wait for the third. All
// three complete, and nothing is done twice. A reset after the end repeats nothing either.
func TestWaitsSurviveWhateverHappensToThoseWhoWait(t *testing.T) {
	t.Parallel()
	const answer = "the clerk says: the scribe says: counted"
	for name, c := range map[string]struct {
		timeout time.Duration
		disturb func(w *world.World, x, clerk, scribe string)
	}{
		"sub-agent reset": {disturb: func(w *world.World, _, clerk, scribe string) {
			w.Reset(clerk, "", 1)
			attached(w, clerk, scribe)
		}},
		"sub-agent reset after its start": {disturb: func(w *world.World, _, clerk, _ string) { w.Reset(clerk, "", 3) }},
		"parent reset, then sub-agent reset": {disturb: func(w *world.World, x, clerk, _ string) {
			w.Reset(x, "", 1)
			attached(w, x, clerk)
			w.Reset(clerk, "", 1)
		}},
		"sub-agent continued as new": {disturb: func(w *world.World, _, clerk, scribe string) {
			w.Roll(clerk)
			attached(w, clerk, scribe)
		}},
		"parent continued as new": {disturb: func(w *world.World, x, clerk, _ string) {
			w.Roll(x)
			attached(w, x, clerk)
		}},
		"parent continued as new, then sub-agent, then parent": {disturb: func(w *world.World, x, clerk, _ string) {
			w.Roll(x)
			w.Roll(clerk)
			w.Roll(x)
			attached(w, x, clerk)
		}},
		"parent continued as new, then reset to its beginning": {disturb: func(w *world.World, x, clerk, _ string) {
			first := w.RunID(x)
			w.Roll(x)
			w.Reset(x, first, 1)
			attached(w, x, clerk)
		}},
		"parent timed out and resumed": {timeout: 5 * time.Second, disturb: func(w *world.World, x, clerk, _ string) {
			w.Eventually("it times out", func() bool {
				look, err := w.Client.Describe(w.T.Context(), x)
				return err == nil && look.Status == reagent.TimedOut
			})
			w.Must("resume", "--detach", x)
			attached(w, x, clerk)
		}},
		"parent terminated, sub-agent reset, parent resumed": {disturb: func(w *world.World, x, clerk, _ string) {
			terminateRun(w, x)
			w.Reset(clerk, "", 1)
			w.Must("resume", "--detach", x)
			attached(w, x, clerk)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := world.NewGate()
			w := world.New(t, treeModel(g, ""), nil, treeAgents)
			w.Worker()
			x := "x-" + uuid.NewString()[:8]
			clerk, scribe := startTree(w, g, x, c.timeout)
			c.disturb(w, x, clerk, scribe)
			close(g.Open)
			w.Finished(x, answer)
			ranOnce(w, x, 5)
			w.Reset(x, "", 1) // all agents have ended by now
			w.Finished(x, answer)
			ranOnce(w, x, 5)
		})
	}
}

// ranOnce asserts that the agents in the tree of x ran once. The parameter requests is the expected number of model
// requests, each of which must have been made once. The agents x and clerk must have one sub-agent each.
func ranOnce(w *world.World, x string, requests int) {
	w.T.Helper()
	w.NothingTwice()
	require.Len(w.T, w.Requests(), requests)
	s := w.Show(x)
	require.Len(w.T, s.Children, 1)
	require.Len(w.T, s.Messages, 4)
	clerk := s.Children[0].ID
	w.Eventually("the clerk has ended", func() bool { return w.Show(clerk).Status != "running" })
	require.Len(w.T, w.Show(clerk).Children, 1)
}

// If a sub-agent fails, the failure is the result of the call. A parent that is reset gets the same failure, and the
// sub-agent does not run again.
func TestFailureOfASubAgentIsItsResult(t *testing.T) {
	for _, broken := range []string{"clerk", "scribe"} {
		t.Run(broken, func(t *testing.T) {
			g := world.NewGate()
			w := world.New(t, treeModel(g, broken), nil, treeAgents)
			w.Worker()
			x := "x-" + uuid.NewString()[:8]
			clerk, _ := startTree(w, g, x, 0)
			close(g.Open)
			require.NoError(t, w.Temporal.GetWorkflow(t.Context(), x, "").Get(t.Context(), nil))
			want := w.Show(x).Lines()
			require.Contains(t, want[2], "error: the agent "+broken+" ended without an answer: model: the API key was refused")
			again := func() {
				w.Eventually("it has ended", func() bool { return w.Show(x).Status == "completed" })
				require.Equal(t, want, w.Show(x).Lines())
				ranOnce(w, x, 5)
			}
			w.Reset(x, "", 1)
			again()
			if broken == "scribe" {
				w.Reset(clerk, "", 1)
				w.Eventually("the clerk has ended again", func() bool { return w.Show(clerk).Status == "completed" })
			}
			w.Reset(x, "", 1)
			again()
		})
	}
}

// A workflow that somebody else started may have the ID that a sub-agent should get. The parent does not take its
// answer, but gets an error as the result of the call.
func TestForeignWorkflowIsNoSubAgent(t *testing.T) {
	for _, broken := range []string{"", "scribe"} {
		t.Run("broken "+broken, func(t *testing.T) { foreignIsNoSubAgent(t, broken) })
	}
}

func foreignIsNoSubAgent(t *testing.T, broken string) {
	g := world.NewGate()
	w := world.New(t, treeModel(g, broken), nil, treeAgents)
	close(g.Open)
	w.Worker()
	in := agent.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: "first", Text: "ask the clerk"}}
	foreign := childOf(t, "x-"+in.Incarnation, in, "clerk", `{"task":"count"}`)
	_, _, code := w.Starter("run", "-a", "scribe", "--id", foreign, "count something else")
	require.Equal(t, broken == "", code == 0)

	_, err := w.Temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "x-" + in.Incarnation, TaskQueue: w.Queue, Memo: workflows.Memo(in)}, protocol.AgentWorkflow, in)
	require.NoError(t, err)
	w.Finished("x-"+in.Incarnation, "the clerk says: error: the agent clerk ended without an answer: the workflow "+foreign+" is not the sub-agent that was asked for")
	require.Len(t, w.Requests(), 3, "one of the other, two of x")
}

// childOf returns the ID of the sub-agent that an agent asks for with its first call. The parameter in is the start
// input of the agent. The parameters name and arguments are those of the call.
func childOf(t *testing.T, id string, in agent.Start, name, arguments string) string {
	s := agent.New(id, in, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Tools: []agent.Tool{{Name: name, Agent: name}}, Limits: agent.Limits{Depth: 1},
	}})
	s.Advance(0)
	s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llmtest.Call(llmtest.ToolCall("1", name, arguments))})
	require.Len(t, s.Children, 1)
	return s.Children[0].ID
}

// An agent that waits for a sub-agent takes no activity slot of its worker. Four levels of agents wait for one another
// on a worker with one slot. After a reset, each of them finds its sub-agent again.
func TestWaitsHoldNoSlots(t *testing.T) {
	t.Parallel()
	const levels = 4
	open := make(chan struct{})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		level := len(req.Messages[0].Content) // the instructions of level 3 are "xxx"
		switch {
		case world.Asked(req) == 1:
			return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
		case level < levels:
			return llmtest.Call(llmtest.ToolCall("1", strings.Repeat("x", level+1), `{"task":"go down"}`)), nil
		}
		select {
		case <-open:
			return llmtest.Say("at the bottom"), nil
		default: // the activity slot is free between the attempts
			return llm.Reply{}, &llm.Error{Class: llm.Overloaded, Message: "later", RetryAfter: 4 * time.Second}
		}
	}, nil, "")
	var agents []activities.Agent
	for level := range levels {
		name := strings.Repeat("x", level+1)
		agents = append(agents, activities.Agent{Name: name, Model: "main", Instructions: name, Limits: agent.Limits{Depth: levels}})
		if level > 0 {
			agents[level-1].Agents = []string{name}
		}
	}
	w.WorkerHere(worker.Options{MaxConcurrentActivityExecutionSize: 1, StickyScheduleToStartTimeout: time.Second}, func(*agent.Definition) {}, agents...)
	id := "x-" + uuid.NewString()[:8]
	w.Must("run", "--detach", "-a", "x", "--id", id, "go down")
	tree := []string{id}
	for level := 1; level < levels; level++ {
		w.Eventually(fmt.Sprint("level ", level, " is there"), func() bool {
			s, err := w.Client.Show(t.Context(), tree[level-1])
			if err == nil && len(s.Children) == 1 {
				tree = append(tree, s.Children[0].ID)
			}
			return len(tree) > level
		})
	}
	w.Eventually("the bottom is reached", func() bool { return len(w.Requests()) == levels })
	for _, waits := range slices.Backward(tree[:levels-1]) {
		w.Reset(waits, "", 1)
	}
	for i, waits := range tree[:levels-1] {
		attached(w, waits, tree[i+1])
	}
	close(open)
	w.Finished(id, "at the bottom")
	require.Len(t, w.Requests(), levels+levels-1)
}

// A sub-agent may answer after the call that waited for it has exceeded its time budget. The parent gets this answer
// once, as a message that names the call. This also holds if the parent has continued in another run.
func TestLateAnswerComesOnceAsAMessage(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(w *world.World, id string){
		"the same run":     func(*world.World, string) {},
		"reset":            func(w *world.World, id string) { w.Reset(id, "", 1) },
		"continued as new": func(w *world.World, id string) { w.Roll(id) },
		"resumed": func(w *world.World, id string) {
			terminateRun(w, id)
			w.Must("resume", "--detach", id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := world.NewGate()
			w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
				last := req.Messages[len(req.Messages)-1]
				switch {
				case req.Messages[0].Content == "clerk" && world.Asked(req) == 0:
					return llmtest.Say("counted"), g.Pass(ctx)
				case world.Asked(req) == 0:
					return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
				case last.Role == llm.Tool:
					return llmtest.Say("I go on without."), nil
				}
				return llmtest.Say("I see."), nil
			}, nil, "")
			w.WorkerHere(worker.Options{StickyScheduleToStartTimeout: time.Second}, patient(2000),
				activities.Agent{Name: "x", Model: "main", Instructions: "x", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
				activities.Agent{Name: "clerk", Model: "main", Instructions: "clerk"},
			)
			id := "x-" + uuid.NewString()[:8]
			w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "ask the clerk")
			g.Wait(t)
			waiting := func(messages int) {
				w.Eventually("it waits", func() bool {
					s, err := w.Client.Show(t.Context(), id)
					return err == nil && s.Status == reagent.Waiting && len(s.Messages) == messages
				})
			}
			waiting(4)
			meanwhile(w, id)
			waiting(4)
			close(g.Open)
			waiting(6)
			s := w.Show(id)
			require.Equal(t, []string{
				"user: ask the clerk", `assistant: [clerk {"task":"count"}]`,
				fmt.Sprintf("tool: no result yet: no answer within 2 seconds; the agent works on. To wait for it again, call it with {\"continue\": %q}", handle(s.Children[0].ID)),
				"assistant: I go on without.",
				"user: The call 1 of clerk, which had no result, has its result now:\n\ncounted", "assistant: I see.",
			}, s.Lines())
			require.Equal(t, 1, s.Usage["repaired"])
			w.NothingTwice()
		})
	}
}

// patient returns a function that changes a definition: it sets the time budget of all calls for sub-agents, in
// milliseconds.
func patient(budgetMS int64) func(*agent.Definition) {
	return func(d *agent.Definition) {
		for i := range d.Tools {
			if d.Tools[i].Agent != "" {
				d.Tools[i].BudgetMS = budgetMS
			}
		}
	}
}

// handle returns the short name by which a model refers to the sub-agent with the given ID.
func handle(id string) string { return id[strings.LastIndexByte(id, '-')+1:][:8] }

// A fork gets sub-agents of its own. The sub-agents of the original agent go on, and are not run again.
func TestForkSharesNoSubAgent(t *testing.T) {
	g := world.NewGate()
	w := world.New(t, treeModel(g, ""), nil, treeAgents)
	w.Worker()
	x := "x-" + uuid.NewString()[:8]
	clerk, scribe := startTree(w, g, x, 0)
	w.Must("fork", "--detach", x, "--at", "1", "--id", x+"-fork", "--message", "you too")
	w.Finished(x+"-fork", "the clerk says: the scribe says: counted") // while the scribe of the original agent waits at the gate
	fork := w.Show(x + "-fork")
	require.Len(t, fork.Children, 1)
	require.NotEqual(t, clerk, fork.Children[0].ID)
	require.NotEqual(t, scribe, w.Show(fork.Children[0].ID).Children[0].ID)
	require.Equal(t, "running", w.Show(clerk).Status)
	close(g.Open)
	w.Finished(x, "the clerk says: the scribe says: counted")
	w.Must("fork", "--detach", x, "--id", x+"-later", "--message", "say it again")
	w.Finished(x+"-later", "the clerk says: say it again")
	require.Empty(t, w.Show(x+"-later").Children, "the first messages hold the answer")
	w.NothingTwice()
	for _, id := range []string{clerk, scribe, fork.Children[0].ID} {
		require.Equal(t, 1, w.Runs(id))
	}
	require.Len(t, w.Requests(), 5+5+1)
}
