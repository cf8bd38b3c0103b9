package reagenttest

import (
	"errors"
	"fmt"
	"time"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// stage is where workflows run: an [environment] or a [server].
type stage interface {
	start(o reagent.StartOptions) error
	execute(id string, workflow any, args []any) error
	// query asks an agent, and decodes the answer into `out`.
	query(id, name string, out any, args ...any) error
	// update returns when the agent has accepted and handled the update.
	update(id, name string, args ...any) error
	// settle waits until `settled` returns true. It calls the function whenever something may have happened.
	settle(settled func(scene) (bool, error)) error
	// elapse lets an amount of time pass, and then waits until `settled` returns true.
	elapse(d time.Duration, settled func(scene) (bool, error)) error
	// result decodes the result of a workflow, or returns the error with which it has ended.
	result(id string, out any) error
	reset(id string, messages int) error
	save(id, file string) error
}

// scene is a look at the workflows of a stage, without waiting.
type scene interface {
	query(id, name string, out any, args ...any) error
	// ended reports whether a workflow has ended.
	ended(id string) (bool, error)
	// callees returns the IDs of the agents that a workflow has called and that may be running.
	callees(id string) ([]string, error)
}

var errNeedsServer = errors.New("this needs a Temporal server, because the test environment keeps no histories and has one worker: use reagenttest.OnServer in place of reagenttest.New")

// agentSettled reports whether an agent does nothing until somebody outside acts, and neither do its sub-agents.
func agentSettled(s scene, id string) (bool, error) {
	var view protocol.StateView
	if err := s.query(id, protocol.StateQuery, &view); err != nil {
		return false, err
	}
	if view.Status.Ended() {
		return true, nil
	}
	waits := view.WaitsFor == agent.WaitsForSubAgents
	if view.Reading {
		return false, nil
	}
	if view.Status == agent.Running && !waits {
		if beside, err := waitsBesideSubAgents(s, id); err != nil || !beside {
			return false, err
		}
		waits = true
	}
	var running []string
	for _, child := range view.Children {
		if !child.Phase.Ended() {
			running = append(running, child.ID)
		}
	}
	if waits && len(running) == 0 {
		return false, nil
	}
	return allSettled(s, running, !waits)
}

// waitsBesideSubAgents reports whether some open calls of an agent wait for sub-agents, and all others for somebody outside. The agent has
// the status of a running one then, because the sub-agents may work.
func waitsBesideSubAgents(s scene, id string) (bool, error) {
	var open []agent.Call
	if err := s.query(id, protocol.PendingQuery, &open); err != nil {
		return false, err
	}
	for _, c := range open {
		if c.Search || c.Stopped != nil || c.Child == "" && c.WaitsFor() == "" {
			return false, nil
		}
	}
	return len(open) > 0, nil
}

// workflowSettled reports whether a workflow of a program has ended, or waits for agents that do nothing until somebody outside acts.
func workflowSettled(s scene, id string) (bool, error) {
	ended, err := s.ended(id)
	if ended || err != nil {
		return ended, err
	}
	called, err := s.callees(id)
	if err != nil || len(called) == 0 {
		return false, err
	}
	return allSettled(s, called, false)
}

// allSettled reports whether all agents have settled. If `mayEnd` is false, an agent that has ended does not count as settled, because
// whoever waits for it goes on.
func allSettled(s scene, ids []string, mayEnd bool) (bool, error) {
	for _, id := range ids {
		settled, err := agentSettled(s, id)
		if err != nil || !settled {
			return false, err
		}
		if mayEnd {
			continue
		}
		var view protocol.StateView
		if err := s.query(id, protocol.StateQuery, &view); err != nil || view.Status.Ended() {
			return false, err
		}
	}
	return true, nil
}

// notSettled returns the error for agents that did not settle in time. `failing` says which activities are tried again.
func notSettled(after time.Duration, failing string, last error) error {
	text := fmt.Sprintf("the agents have not settled within %v: a model call or a tool call has not ended, or a workflow waits for something that the test does not do", after)
	if failing != "" {
		text = fmt.Sprintf("the agents have not settled within %v: %s", after, failing)
	}
	if last != nil {
		return fmt.Errorf("%s (last error: %w)", text, last)
	}
	return errors.New(text)
}
