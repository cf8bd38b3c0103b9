package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// The errors of [Client.GiveResult]. Compare with [errors.Is], because other errors wrap these errors.
var (
	// ErrSettled says that an external call no longer takes a result. It has another result, or its agent has completed without one.
	ErrSettled = errors.New("the call takes no result any more")
	// ErrNotReady says that an external call takes no result now, and may take one later.
	ErrNotReady = errors.New("the call does not wait for a result now; try again later")
)

// GiveResult gives an external call its result, as [Client.Complete] does. It is for programs that repeat a result until they know that
// the agent has it:
//   - `call` is the key of the call, and the call must be one of the agent itself and not of a sub-agent.
//   - If the call has exactly this result from outside already, GiveResult returns nil and changes nothing. This also holds if the agent
//     has ended. The agent remembers its last 1,000 decisions.
//
// The error is one of these:
//   - a [*NoCallError] if the agent has no such call
//   - one that wraps [ErrNotFound] if there is no such agent
//   - one that wraps [ErrSettled] if the call has another result, or the agent has completed without the result
//   - one that wraps [ErrNotReady] if the call does not wait for its result yet: the agent was reset to a point before the call, a person
//     has to approve the call first, the agent has ended without an answer and takes the result after [Client.Resume], or the agent still
//     reads its state when ctx ends
//   - one that wraps [ErrNoWorker] or [ErrNoServer] if there is no answer until ctx ends
//   - one that wraps [ErrRefused] if the result is not valid: see [agent.MaxGivenBytes]
//
// After any other error, the agent may or may not have the result: call GiveResult again.
func (c *Client) GiveResult(ctx context.Context, id string, call agent.Key, result string, o CompleteOptions) error {
	d, err := signed(Waits{AgentID: id, Call: agent.Call{Key: call}}, o.decision(result))
	if err != nil {
		return err
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := c.update(ctx, id, nil, protocol.DecideUpdate, d)
		if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrClosed) {
			return err
		}
		again, err := c.given(ctx, id, d)
		if !again {
			return err
		}
		if !sleep(ctx, pause) {
			return &agentError{fmt.Sprintf("the call %s of agent %q does not wait for its result now, because the agent is reading its state", call.Handle(), id), []error{ErrNotReady}}
		}
	}
}

// given returns what [Client.GiveResult] returns for a result that the agent has refused. It reads the history of the newest run. `again`
// tells the caller to send the result again, because the call waits for its result by now, or the newest run has no state yet.
func (c *Client) given(ctx context.Context, id string, d agent.Decision) (again bool, err error) {
	found, run, err := c.newest(ctx, id)
	if err != nil {
		return false, err
	}
	if run.State == nil {
		if found.status.Ended() {
			return false, &NoCallError{ID: id, Call: d.Key.Handle(), For: WaitsForResult.SettledBy()}
		}
		return true, nil
	}
	return untaken(id, found.status, run.State, d)
}

// untaken returns what [Client.given] returns for a result that an agent with the given status and state has refused.
func untaken(id string, status Status, state *agent.State, d agent.Decision) (again bool, err error) {
	refused := func(cause error, why string) error {
		return &agentError{fmt.Sprintf("the call %s of agent %q %s", d.Key.Handle(), id, why), []error{cause}}
	}
	switch err := state.ResultGiven(d); {
	case err == nil:
		return false, nil
	case errors.Is(err, agent.ErrDecided):
		return false, refused(ErrSettled, "has another result already, and takes no second one")
	case errors.Is(err, agent.ErrNoCall) && (status.Ended() || state.CopiedStatus() != agent.Running):
		return false, &NoCallError{ID: id, Call: d.Key.Handle(), For: WaitsForResult.SettledBy()}
	case errors.Is(err, agent.ErrNoCall):
		return false, refused(ErrNotReady, "does not exist now: the agent was reset, and may make the call again")
	case status == Completed:
		return false, refused(ErrSettled, "has no result, and its agent has completed without it")
	case status.Ended():
		// The call is still in the state from which the agent continues.
		return false, refused(ErrNotReady, "does not wait for its result now: its agent has ended without an answer; resume the agent first")
	case errors.Is(err, agent.ErrWaits):
		return true, nil
	}
	return false, refused(ErrNotReady, "does not wait for its result now: a person has to approve the call first")
}
