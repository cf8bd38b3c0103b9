package reagenttest

import "fmt"

// Execution is a workflow of the program in a test, which may call agents. Its methods are for the goroutine of the test.
type Execution struct {
	agents *Agents
	stage  stage
	id     string
}

// Settle waits until the workflow has ended, or waits for agents that have settled. [Agents.Execute] does so itself; call Settle again
// after an agent of the workflow was let go on. It returns the execution.
func (e *Execution) Settle() *Execution {
	e.agents.t.Helper()
	if err := e.stage.settle(func(s scene) (bool, error) { return workflowSettled(s, e.id) }); err != nil {
		e.agents.t.Fatalf("reagenttest: the workflow: %v", err)
	}
	return e
}

// Agent returns the only agent that the workflow has called and that may be running.
func (e *Execution) Agent() *Agent {
	e.agents.t.Helper()
	var ids []string
	err := e.stage.settle(func(s scene) (bool, error) {
		var err error
		ids, err = s.callees(e.id)
		return true, err
	})
	if err != nil {
		e.agents.t.Fatalf("reagenttest: list the agents of the workflow: %v", err)
	}
	if len(ids) != 1 {
		e.agents.t.Fatalf("reagenttest: the workflow waits for %d agents and not for one: %q; use AgentWithID", len(ids), ids)
	}
	return e.AgentWithID(ids[0])
}

// AgentWithID returns the agent with the given ID, which the workflow has called: see [reagent.Task].ID.
func (e *Execution) AgentWithID(id string) *Agent {
	return &Agent{agents: e.agents, stage: e.stage, id: id}
}

// Result decodes the result of the workflow into the value at a pointer, which may be nil. It returns the error of the workflow, or an
// error if the workflow has not ended.
func (e *Execution) Result(out any) error {
	ended := false
	if err := e.stage.settle(func(s scene) (bool, error) {
		var err error
		ended, err = s.ended(e.id)
		return true, err
	}); err != nil {
		return err
	}
	if !ended {
		return fmt.Errorf("the workflow %s has not ended: it waits for an agent; let the agent go on, and call Settle", e.id)
	}
	return e.stage.result(e.id, out)
}
