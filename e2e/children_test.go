package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"

	reagent "github.com/reagent-dev/reagent/client"
)

// treeModel speaks for three agents: x asks the clerk, the clerk asks the scribe, and the scribe stands at
// the gate before it answers. Each tells what it was told; the one named in broken fails instead.
func treeModel(g *gate, broken string) func(context.Context, llm.Request) (llm.Reply, error) {
	return func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1].Content
		name, below := req.Messages[0].Content, map[string]string{"x": "clerk", "clerk": "scribe"}[req.Messages[0].Content]
		switch {
		case name == "scribe":
			if err := g.pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			last = "counted"
		case asked(req) == 0:
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

// startTree starts x and waits until the scribe, two levels below, stands at the gate.
func (w *world) startTree(g *gate, id string, timeout time.Duration) (clerk, scribe string) {
	in := workflows.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.InboxMessage{ID: "first", Text: "ask the clerk"}}
	_, err := w.temporal.ExecuteWorkflow(w.t.Context(), sdk.StartWorkflowOptions{
		ID: id, TaskQueue: w.queue, WorkflowRunTimeout: timeout, Memo: workflows.Memo(in),
	}, workflows.Agent, in)
	require.NoError(w.t, err)
	g.wait(w.t)
	clerk = w.show(id).Children[0].ID
	return clerk, w.show(clerk).Children[0].ID
}

func (w *world) terminateRun(id string) {
	require.NoError(w.t, w.temporal.TerminateWorkflow(w.t.Context(), id, "", "test"))
}

// roll makes an agent that waits for a sub-agent go on in a new run.
func (w *world) roll(id string) {
	before := w.runID(id)
	require.NoError(w.t, w.client.Upgrade(w.t.Context(), id))
	w.eventually("it goes on in a new run", func() bool { return w.runID(id) != before })
}

// attached waits until an agent has found its sub-agent again.
func (w *world) attached(id, child string) {
	w.eventually(id+" waits for "+child, func() bool {
		found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
		require.NoError(w.t, err)
		for _, a := range found.GetPendingActivities() {
			if a.GetActivityType().GetName() == protocol.AwaitAgent && a.GetAttempt() > 1 {
				return true
			}
		}
		return false
	})
}

// The three agents of a tree come to their end, each once, whatever happens to the two that wait
// while the third works, and again when it happens after the end.
func TestWaitsSurviveWhateverHappensToThoseWhoWait(t *testing.T) {
	t.Parallel()
	const answer = "the clerk says: the scribe says: counted"
	for name, c := range map[string]struct {
		timeout time.Duration
		disturb func(w *world, x, clerk, scribe string)
	}{
		"sub-agent reset": {disturb: func(w *world, _, clerk, scribe string) {
			w.reset(clerk, "", 1)
			w.attached(clerk, scribe)
		}},
		"sub-agent reset after its start": {disturb: func(w *world, _, clerk, _ string) { w.reset(clerk, "", 3) }},
		"parent reset, then sub-agent reset": {disturb: func(w *world, x, clerk, _ string) {
			w.reset(x, "", 1)
			w.attached(x, clerk)
			w.reset(clerk, "", 1)
		}},
		"sub-agent continued as new": {disturb: func(w *world, _, clerk, scribe string) {
			w.roll(clerk)
			w.attached(clerk, scribe)
		}},
		"parent continued as new": {disturb: func(w *world, x, clerk, _ string) {
			w.roll(x)
			w.attached(x, clerk)
		}},
		"parent continued as new, then sub-agent, then parent": {disturb: func(w *world, x, clerk, _ string) {
			w.roll(x)
			w.roll(clerk)
			w.roll(x)
			w.attached(x, clerk)
		}},
		"parent continued as new, then reset to its beginning": {disturb: func(w *world, x, clerk, _ string) {
			first := w.runID(x)
			w.roll(x)
			w.reset(x, first, 1)
			w.attached(x, clerk)
		}},
		"parent timed out and resumed": {timeout: 5 * time.Second, disturb: func(w *world, x, clerk, _ string) {
			w.eventually("it times out", func() bool {
				look, err := w.client.Look(w.t.Context(), x)
				return err == nil && look.Status == reagent.TimedOut
			})
			w.must("resume", "--detach", x)
			w.attached(x, clerk)
		}},
		"parent terminated, sub-agent reset, parent resumed": {disturb: func(w *world, x, clerk, _ string) {
			w.terminateRun(x)
			w.reset(clerk, "", 1)
			w.must("resume", "--detach", x)
			w.attached(x, clerk)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			w := newWorld(t, treeModel(g, ""), nil, treeAgents)
			w.worker()
			x := "x-" + uuid.NewString()[:8]
			clerk, scribe := w.startTree(g, x, c.timeout)
			c.disturb(w, x, clerk, scribe)
			close(g.open)
			w.finished(x, answer)
			w.ranOnce(x, 5)
			w.reset(x, "", 1) // all has ended by now
			w.finished(x, answer)
			w.ranOnce(x, 5)
		})
	}
}

// ranOnce asserts that so many requests were made, each once, and that x and the clerk had one sub-agent each.
func (w *world) ranOnce(x string, requests int) {
	w.t.Helper()
	w.once()
	require.Len(w.t, w.requests(), requests)
	s := w.show(x)
	require.Len(w.t, s.Children, 1)
	require.Len(w.t, s.Messages, 4)
	clerk := s.Children[0].ID
	w.eventually("the clerk has ended", func() bool { return w.show(clerk).Status != "running" })
	require.Len(w.t, w.show(clerk).Children, 1)
}

// A failure is a result: whoever waits again for a sub-agent that failed is told so, and nothing is tried again.
func TestFailureOfASubAgentIsItsResult(t *testing.T) {
	for _, broken := range []string{"clerk", "scribe"} {
		t.Run(broken, func(t *testing.T) {
			g := newGate()
			w := newWorld(t, treeModel(g, broken), nil, treeAgents)
			w.worker()
			x := "x-" + uuid.NewString()[:8]
			clerk, _ := w.startTree(g, x, 0)
			close(g.open)
			require.NoError(t, w.temporal.GetWorkflow(t.Context(), x, "").Get(t.Context(), nil))
			want := w.show(x).lines()
			require.Contains(t, want[2], "error: the agent "+broken+" ended without an answer: model: the API key was refused")
			again := func() {
				w.eventually("it has ended", func() bool { return w.show(x).Status == "completed" })
				require.Equal(t, want, w.show(x).lines())
				w.ranOnce(x, 5)
			}
			w.reset(x, "", 1)
			again()
			if broken == "scribe" {
				w.reset(clerk, "", 1)
				w.eventually("the clerk has ended again", func() bool { return w.show(clerk).Status == "completed" })
			}
			w.reset(x, "", 1)
			again()
		})
	}
}

// Somebody else's workflow may have the ID of a sub-agent. What it says is not an answer.
func TestForeignWorkflowIsNoSubAgent(t *testing.T) {
	for _, broken := range []string{"", "scribe"} {
		t.Run("broken "+broken, func(t *testing.T) { foreignIsNoSubAgent(t, broken) })
	}
}

func foreignIsNoSubAgent(t *testing.T, broken string) {
	g := newGate()
	w := newWorld(t, treeModel(g, broken), nil, treeAgents)
	close(g.open)
	w.worker()
	in := workflows.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.InboxMessage{ID: "first", Text: "ask the clerk"}}
	foreign := childOf(t, "x-"+in.Incarnation, in, "clerk", `{"task":"count"}`)
	_, _, code := w.starter("run", "-a", "scribe", "--id", foreign, "count something else")
	require.Equal(t, broken == "", code == 0)

	_, err := w.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "x-" + in.Incarnation, TaskQueue: w.queue, Memo: workflows.Memo(in)}, workflows.Agent, in)
	require.NoError(t, err)
	w.finished("x-"+in.Incarnation, "the clerk says: error: the agent clerk ended without an answer: the workflow "+foreign+" is not the sub-agent that was asked for")
	require.Len(t, w.requests(), 3, "one of the other, two of x")
}

// childOf returns the ID of the sub-agent that an agent's first call asks for.
func childOf(t *testing.T, id string, in workflows.Start, name, arguments string) string {
	s := agent.New(id, in, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Tools: []agent.Tool{{Name: name, Agent: name}}, Limits: agent.Limits{Depth: 1},
	}})
	s.Advance(0)
	s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llmtest.Call(llmtest.ToolCall("1", name, arguments))})
	require.Len(t, s.Children, 1)
	return s.Children[0].ID
}

// workerHere serves agents from this process until stop is called, where a test may set what a configuration cannot; change may
// change a definition before it is pinned.
func (w *world) workerHere(o worker.Options, change func(*agent.Definition), agents ...activities.Agent) (stop func()) {
	main, err := openai.New(openai.Options{Name: "main", BaseURL: w.model.URL, APIKey: "none"})
	require.NoError(w.t, err)
	options, err := config.ClientOptions("", "")
	require.NoError(w.t, err)
	doing, err := activities.New(activities.Options{
		Temporal: w.temporal, Agents: agents, Converter: options.DataConverter, Tools: w.registry,
		Models: map[string]activities.Model{"main": {Client: main, Model: "scripted"}},
	})
	require.NoError(w.t, err)
	here := worker.New(w.temporal, w.queue, o)
	workflows.New(workflows.Options{}).Register(here)
	doing.Register(here)
	here.RegisterActivityWithOptions(func(ctx context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
		d, err := doing.LoadAgent(ctx, in)
		change(&d)
		return d, err
	}, activity.RegisterOptions{Name: protocol.LoadAgent, DisableAlreadyRegisteredCheck: true})
	require.NoError(w.t, here.Start())
	stop = sync.OnceFunc(here.Stop)
	w.t.Cleanup(stop)
	return stop
}

// A wait holds no slot: four levels of agents wait for one another on a worker that does one thing
// at a time, all of them found again after a reset.
func TestWaitsHoldNoSlots(t *testing.T) {
	t.Parallel()
	const levels = 4
	open := make(chan struct{})
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		level := len(req.Messages[0].Content) // the instructions of level 3 are "xxx"
		switch {
		case asked(req) == 1:
			return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
		case level < levels:
			return llmtest.Call(llmtest.ToolCall("1", strings.Repeat("x", level+1), `{"task":"go down"}`)), nil
		}
		select {
		case <-open:
			return llmtest.Say("at the bottom"), nil
		default: // the slot is free between the attempts
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
	w.workerHere(worker.Options{MaxConcurrentActivityExecutionSize: 1, StickyScheduleToStartTimeout: time.Second}, func(*agent.Definition) {}, agents...)
	id := "x-" + uuid.NewString()[:8]
	w.must("run", "--detach", "-a", "x", "--id", id, "go down")
	tree := []string{id}
	for level := 1; level < levels; level++ {
		w.eventually(fmt.Sprint("level ", level, " is there"), func() bool {
			s, err := w.client.Show(t.Context(), tree[level-1])
			if err == nil && len(s.Children) == 1 {
				tree = append(tree, s.Children[0].ID)
			}
			return len(tree) > level
		})
	}
	w.eventually("the bottom is reached", func() bool { return len(w.requests()) == levels })
	for _, waits := range slices.Backward(tree[:levels-1]) {
		w.reset(waits, "", 1)
	}
	for i, waits := range tree[:levels-1] {
		w.attached(waits, tree[i+1])
	}
	close(open)
	w.finished(id, "at the bottom")
	require.Len(t, w.requests(), levels+levels-1)
}

// A sub-agent that answers after its budget is over answers all the same: as a message that names the call,
// once, also when its parent has gone on in other runs meanwhile.
func TestLateAnswerComesOnceAsAMessage(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(w *world, id string){
		"the same run":     func(*world, string) {},
		"reset":            func(w *world, id string) { w.reset(id, "", 1) },
		"continued as new": func(w *world, id string) { w.roll(id) },
		"resumed": func(w *world, id string) {
			w.terminateRun(id)
			w.must("resume", "--detach", id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
				last := req.Messages[len(req.Messages)-1]
				switch {
				case req.Messages[0].Content == "clerk" && asked(req) == 0:
					return llmtest.Say("counted"), g.pass(ctx)
				case asked(req) == 0:
					return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
				case last.Role == llm.Tool:
					return llmtest.Say("I go on without."), nil
				}
				return llmtest.Say("I see."), nil
			}, nil, "")
			w.workerHere(worker.Options{StickyScheduleToStartTimeout: time.Second}, patient(2000),
				activities.Agent{Name: "x", Model: "main", Instructions: "x", Agents: []string{"clerk"}, Limits: agent.Limits{Depth: 1}},
				activities.Agent{Name: "clerk", Model: "main", Instructions: "clerk"},
			)
			id := "x-" + uuid.NewString()[:8]
			w.must("run", "--detach", "--chat", "-a", "x", "--id", id, "ask the clerk")
			g.wait(t)
			waiting := func(messages int) {
				w.eventually("it waits", func() bool {
					s, err := w.client.Show(t.Context(), id)
					return err == nil && s.Status == reagent.Waiting && len(s.Messages) == messages
				})
			}
			waiting(4)
			meanwhile(w, id)
			waiting(4)
			close(g.open)
			waiting(6)
			s := w.show(id)
			require.Equal(t, []string{
				"user: ask the clerk", `assistant: [clerk {"task":"count"}]`,
				fmt.Sprintf("tool: interrupted: no answer within 2 seconds; the agent works on. To wait for it again, call it with {\"continue\": %q}", handle(s.Children[0].ID)),
				"assistant: I go on without.",
				"user: The interrupted call 1 of clerk has its result now:\n\ncounted", "assistant: I see.",
			}, s.lines())
			require.Equal(t, 1, s.Usage["repaired"])
			w.once()
		})
	}
}

// patient returns a change of definitions by which calls wait so long for a sub-agent, in milliseconds.
func patient(budgetMS int64) func(*agent.Definition) {
	return func(d *agent.Definition) {
		for i := range d.Tools {
			if d.Tools[i].Agent != "" {
				d.Tools[i].BudgetMS = budgetMS
			}
		}
	}
}

// handle is how the model knows a sub-agent.
func handle(id string) string { return id[strings.LastIndexByte(id, '-')+1:][:8] }

// A fork has sub-agents of its own. Those of the other go on for the other, and are not run again.
func TestForkSharesNoSubAgent(t *testing.T) {
	g := newGate()
	w := newWorld(t, treeModel(g, ""), nil, treeAgents)
	w.worker()
	x := "x-" + uuid.NewString()[:8]
	clerk, scribe := w.startTree(g, x, 0)
	w.must("fork", "--detach", x, "--at", "1", "--id", x+"-fork", "--message", "you too")
	w.finished(x+"-fork", "the clerk says: the scribe says: counted") // while the other's scribe stands at the gate
	fork := w.show(x + "-fork")
	require.Len(t, fork.Children, 1)
	require.NotEqual(t, clerk, fork.Children[0].ID)
	require.NotEqual(t, scribe, w.show(fork.Children[0].ID).Children[0].ID)
	require.Equal(t, "running", w.show(clerk).Status)
	close(g.open)
	w.finished(x, "the clerk says: the scribe says: counted")
	w.must("fork", "--detach", x, "--id", x+"-later", "--message", "say it again")
	w.finished(x+"-later", "the clerk says: say it again")
	require.Empty(t, w.show(x+"-later").Children, "the first messages hold the answer")
	w.once()
	for _, id := range []string{clerk, scribe, fork.Children[0].ID} {
		require.Equal(t, 1, w.runs(id))
	}
	require.Len(t, w.requests(), 5+5+1)
}

// runs counts the runs that an ID has had.
func (w *world) runs(id string) int {
	n := 0
	w.eventually("Temporal lists "+id, func() bool {
		found, err := w.temporal.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", id)})
		require.NoError(w.t, err)
		n = int(found.GetCount())
		return n > 0
	})
	return n
}
