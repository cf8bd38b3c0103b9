package reagenttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Agent is an agent in a test. Its methods are for the goroutine of the test.
type Agent struct {
	agents *Agents
	stage  stage
	id     string
}

// ID returns the agent's ID.
func (a *Agent) ID() string { return a.id }

// Settle waits until the agent and its sub-agents have settled: each has ended, is held, or waits for somebody outside. The methods below
// do so themselves; call Settle after [Agents.Start], or when a tool or a model has been let go on. It returns the agent.
func (a *Agent) Settle() *Agent {
	a.agents.t.Helper()
	a.must("settle", a.stage.settle(a.settled))
	return a
}

func (a *Agent) settled(s scene) (bool, error) { return agentSettled(s, a.id) }

// Send sends a message to the agent. If the agent waits for the answer to a question, use [Agent.Answer].
func (a *Agent) Send(text string) *Agent {
	a.agents.t.Helper()
	message := agent.QueuedMessage{ID: uuid.NewString(), Text: text, Run: a.view().Run}
	a.must("send a message", a.stage.update(a.id, protocol.MessageUpdate, message))
	return a.Settle()
}

// Approve approves a call that waits for a decision. `call` is the name of the tool, or the name and the arguments, as [Agent.Calls] writes
// them. It may be empty if only one call waits.
func (a *Agent) Approve(call string) *Agent {
	a.agents.t.Helper()
	return a.decide(call, agent.WaitsForApproval, agent.Decision{Approve: true})
}

// ApproveAs approves a call with other arguments, a JSON object. See [Agent.Approve].
func (a *Agent) ApproveAs(call, arguments string) *Agent {
	a.agents.t.Helper()
	return a.decide(call, agent.WaitsForApproval, agent.Decision{Approve: true, Arguments: arguments})
}

// Deny denies a call that waits for a decision. The model gets the reason. See [Agent.Approve].
func (a *Agent) Deny(call, reason string) *Agent {
	a.agents.t.Helper()
	return a.decide(call, agent.WaitsForApproval, agent.Decision{Reason: reason})
}

// Answer answers the question that the agent or a tool has asked.
func (a *Agent) Answer(text string) *Agent {
	a.agents.t.Helper()
	return a.decide("", agent.WaitsForAnswer, agent.Decision{Result: &agent.GivenResult{Content: text}})
}

// Complete gives an external call its result. See [Agent.Approve] for `call`.
func (a *Agent) Complete(call, result string) *Agent {
	a.agents.t.Helper()
	return a.decide(call, agent.WaitsForResult, agent.Decision{Result: &agent.GivenResult{Content: result}})
}

// Fail gives an external call an error as its result. See [Agent.Approve] for `call`.
func (a *Agent) Fail(call, problem string) *Agent {
	a.agents.t.Helper()
	return a.decide(call, agent.WaitsForResult, agent.Decision{Result: &agent.GivenResult{Content: problem, IsError: true}})
}

func (a *Agent) decide(call string, wait agent.WaitsFor, d agent.Decision) *Agent {
	a.agents.t.Helper()
	var found []agent.Call
	var waiting []string
	for _, c := range a.Waits() {
		waiting = append(waiting, fmt.Sprintf("%s waits for %s", callText(c.Name, c.Arguments), c.WaitsFor()))
		if c.WaitsFor() == wait && (call == "" || call == c.Name || call == callText(c.Name, c.Arguments)) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0 && len(waiting) == 0:
		a.agents.t.Fatalf("reagenttest: no call of %s waits for %s; %s", a.id, wait, a.state())
	case len(found) == 0:
		a.agents.t.Fatalf("reagenttest: no call %q of %s waits for %s; %s", call, a.id, wait, strings.Join(waiting, ", "))
	case len(found) > 1:
		a.agents.t.Fatalf("reagenttest: several calls of %s wait for %s, so name one: %s", a.id, wait, strings.Join(waiting, ", "))
	}
	d.Key, d.By = found[0].Key, "test"
	a.must("decide on "+found[0].Name, a.stage.update(a.id, protocol.DecideUpdate, d))
	return a.Settle()
}

// Interrupt stops the running turn, as a person does. A turn runs only after [Agents.Start], and while a model or a tool is held up.
func (a *Agent) Interrupt() *Agent {
	a.agents.t.Helper()
	a.must("interrupt", a.stage.update(a.id, protocol.InterruptUpdate, agent.Interrupt{Run: a.view().Run, Actor: agent.Actor{By: "test"}}))
	return a.Settle()
}

// Close ends a chat when it has answered its messages.
func (a *Agent) Close() *Agent {
	a.agents.t.Helper()
	a.must("close", a.stage.update(a.id, protocol.CloseUpdate))
	return a.Settle()
}

// Elapse lets time pass: timers such as the limit of an approval fire. On a server, it ends the test with an error, because the time of a
// server cannot be moved.
func (a *Agent) Elapse(d time.Duration) *Agent {
	a.agents.t.Helper()
	a.must("let time pass", a.stage.elapse(d, a.settled))
	return a
}

// Reset resets the agent, as an operator does in Temporal: to the newest point at which its transcript had at most the given number of
// messages. What was done after it is recalled and not done again. Reset needs [OnServer].
func (a *Agent) Reset(messages int) *Agent {
	a.agents.t.Helper()
	a.must("reset", a.stage.reset(a.id, messages))
	return a.Settle()
}

// Save writes the history of the agent's newest run to a file, for [Replay]. The folder must exist. The history has the payloads as they
// are, with all messages. Save needs [OnServer].
func (a *Agent) Save(file string) *Agent {
	a.agents.t.Helper()
	a.must("save the history", a.stage.save(a.id, file))
	return a
}

// SubAgent returns the newest sub-agent with the given definition, which may wait for somebody or have ended.
func (a *Agent) SubAgent(name string) *Agent {
	a.agents.t.Helper()
	for _, child := range slices.Backward(a.view().Children) {
		if child.Agent == name {
			return &Agent{agents: a.agents, stage: a.stage, id: child.ID}
		}
	}
	a.agents.t.Fatalf("reagenttest: %s has no sub-agent %q; %s", a.id, name, a.state())
	return nil
}

func (a *Agent) open() []agent.Call {
	a.agents.t.Helper()
	var open []agent.Call
	a.must("read the open calls", a.stage.query(a.id, protocol.PendingQuery, &open))
	return open
}

func (a *Agent) view() protocol.StateView {
	a.agents.t.Helper()
	var view protocol.StateView
	a.must("read the state", a.stage.query(a.id, protocol.StateQuery, &view))
	return view
}

func (a *Agent) must(what string, err error) {
	a.agents.t.Helper()
	if err != nil {
		a.agents.t.Fatalf("reagenttest: %s: %s: %v", a.id, what, err)
	}
}
