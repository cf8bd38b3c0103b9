package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A program that sends a result until the agent has it must learn whether the agent can still take it. An agent that has ended without an
// answer can, because a person may resume it.
func TestRefusedResultSaysWhetherTheAgentCanTakeItLater(t *testing.T) {
	waits := func() *agent.State {
		return &agent.State{Calls: []agent.Call{{Key: "tool-1", Wait: agent.CallWait{For: agent.WaitsForResult}}, {Key: "tool-2", Wait: agent.CallWait{For: agent.WaitsForResult}, Result: &agent.Result{Content: "late"}}}}
	}
	give := func(key agent.Key) agent.Decision {
		return agent.Decision{Key: key, Result: &agent.GivenResult{Content: "done"}}
	}
	for _, status := range []Status{Failed, Cancelled, Terminated, TimedOut} {
		again, err := untaken("a", status, waits(), give("tool-1"))
		require.False(t, again, status)
		require.ErrorIs(t, err, ErrNotReady, status)
		require.ErrorContains(t, err, "resume the agent first")
	}
	_, err := untaken("a", Completed, waits(), give("tool-1"))
	require.ErrorIs(t, err, ErrSettled)
	again, err := untaken("a", Running, waits(), give("tool-1"))
	require.NoError(t, err)
	require.True(t, again)
	for _, status := range []Status{Running, Completed, Terminated} {
		_, err := untaken("a", status, waits(), give("tool-2"))
		require.ErrorIs(t, err, ErrSettled, status)
	}
	for _, status := range []Status{Completed, Terminated} {
		_, err := untaken("a", status, waits(), give("tool-3"))
		require.ErrorAs(t, err, new(*NoCallError), status)
	}
}
