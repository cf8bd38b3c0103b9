package reagenttest

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// patience is how long a method waits until the agents settle. A worker that crashed may hold a task for several seconds.
const patience = time.Minute

// Agents runs the agents of a program in a test. Make it by [New] or [OnServer]. Its methods may be called only by the goroutine of the
// test, except Requests, Effects and Crash, which are safe for concurrent use.
type Agents struct {
	t        testing.TB
	options  reagent.Options
	register []func(worker.Registry)
	server   *server // nil in the test environment

	effects  effects
	attempts *attempts
	models   map[string]*llmtest.Model
	crash    crash

	mu      sync.Mutex
	started int
}

// New returns the agents of a program in Temporal's test environment. Each agent that the test starts, and each workflow, has an
// environment of its own, in which its sub-agents run, too.
//
// `o` are the options of the worker, with these differences: if the TaskQueue is empty, each test has its own, and if the Logger is nil,
// nothing is logged. If the RolloutTimeout is 0, it is set to -1, because no other worker could have what this one lacks. Models with a [reagent.Model].Client and the Options.Tools are watched: see [Agents.Requests] and [Agents.Effects].
// If the options are wrong, the test ends with the error of [reagent.New] when the first agent starts.
func New(t testing.TB, o reagent.Options) *Agents {
	o.TaskQueue = cmp.Or(o.TaskQueue, "test-"+uuid.NewString()[:8])
	o.RolloutTimeout = cmp.Or(o.RolloutTimeout, -1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Agents{t: t, options: o, models: map[string]*llmtest.Model{}, attempts: &attempts{failed: map[string]string{}}}
	a.options.Models = maps.Clone(o.Models)
	for name, m := range o.Models {
		if m.Client != nil {
			a.models[name] = llmtest.Func(m.Client.Complete)
			m.Client = a.models[name]
			a.options.Models[name] = m
		}
	}
	return a
}

// OnServer is [New] with a Temporal development server. The first call in a process starts the server, which ends with the process, and
// fetches the Temporal CLI if it is not on the PATH. The agents run on a worker in the process of the test, which stops at the end of the
// test. If the HeartbeatTimeout of the options is 0, it is set to 1 second, so that Temporal soon misses a worker that crashed.
func OnServer(t testing.TB, o reagent.Options) *Agents {
	t.Helper()
	o.HeartbeatTimeout = cmp.Or(o.HeartbeatTimeout, time.Second)
	a := New(t, o)
	var err error
	if a.server, err = newServer(a); err != nil {
		t.Fatalf("reagenttest: %v", err)
	}
	t.Cleanup(a.server.close)
	return a
}

// Models returns the models of a program that has one model, for [reagent.Options].Models. Its name is "main".
func Models(model llm.Client) map[string]reagent.Model {
	return map[string]reagent.Model{"main": {Name: "scripted", Client: model}}
}

// Register adds the workflows and activities of the program, for [Agents.Execute]. Call it before the first agent starts.
func (a *Agents) Register(register func(worker.Registry)) { a.register = append(a.register, register) }

// Run gives a task to a new agent, and returns when the agents have settled. `name` is the name of the definition.
func (a *Agents) Run(name, message string) *Agent {
	a.t.Helper()
	return a.Start(reagent.StartOptions{Agent: name, Message: message}).Settle()
}

// Chat begins a conversation with a new agent, and returns when the agents have settled. See [Agent.Send].
func (a *Agents) Chat(name, message string) *Agent {
	a.t.Helper()
	return a.Start(reagent.StartOptions{Agent: name, Message: message, Mode: agent.Chat}).Settle()
}

// Start starts an agent and does not wait. If the options have no ID, the ID is the name of the definition with a number. In the test
// environment, the tenant and the priority have no effect.
func (a *Agents) Start(o reagent.StartOptions) *Agent {
	a.t.Helper()
	if a.options.Lookup == nil && !slices.ContainsFunc(a.options.Agents, func(d reagent.Agent) bool { return d.Name == o.Agent }) {
		a.t.Fatalf("reagenttest: Options.Agents has no agent %q", o.Agent)
	}
	if o.ID == "" {
		o.ID = a.newID(o.Agent)
	}
	on := a.stage(o.ID)
	if err := on.start(o); err != nil {
		a.t.Fatalf("reagenttest: start the agent %q: %v", o.Agent, err)
	}
	return &Agent{agents: a, stage: on, id: o.ID}
}

// Execute executes a workflow of the program, which may call agents by [reagent.Run] and [reagent.RunAs]. It returns when the workflow
// has ended, or waits for agents that have settled. The workflow has to be registered: see [Agents.Register].
func (a *Agents) Execute(workflow any, args ...any) *Execution {
	a.t.Helper()
	id := a.newID("workflow")
	e := &Execution{agents: a, stage: a.stage(id), id: id}
	if err := e.stage.execute(id, workflow, args); err != nil {
		a.t.Fatalf("reagenttest: execute the workflow: %v", err)
	}
	return e.Settle()
}

// Requests returns the requests that the model with the given name has got, in the order of arrival. Every attempt counts. The name is
// that in [reagent.Options].Models. Only a model with a [reagent.Model].Client is watched; for others, the test ends.
func (a *Agents) Requests(model string) []llm.Request {
	a.t.Helper()
	watched := a.models[model]
	if watched == nil {
		a.t.Fatalf("reagenttest: the requests to %q are not known: Options.Models has no such model with a Client (there are %q)",
			model, slices.Sorted(maps.Keys(a.models)))
	}
	return watched.Requests()
}

func (a *Agents) newID(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started++
	id := fmt.Sprint(name, "-", a.started)
	if a.server != nil { // tests share the server
		id += "-" + uuid.NewString()[:8]
	}
	return id
}

// stage returns the stage for a new workflow.
func (a *Agents) stage(id string) stage {
	if a.server != nil {
		return a.server
	}
	return newEnvironment(a, id)
}
