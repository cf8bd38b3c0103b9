package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// After Ctrl-C, the command says that the agent goes on, and how to follow or end it.
func TestNewcomerInterruptsAndIsToldThatTheAgentGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("some failure")
	require.Equal(t, failure, GoesOn(ctx, failure, "a"))
	cancel()
	require.NoError(t, GoesOn(ctx, nil, "a"))
	err := GoesOn(ctx, failure, "a")
	require.EqualError(t, err, "interrupted; agent a goes on: follow it with `starter tail a`, end it with `starter cancel a`")
	require.Equal(t, exit.Interrupted, exit.CodeOf(err))
}

// The hints on an agent that has ended name a command that it can take.
func TestNewcomerIsToldHowToGoOnFromAnAgentThatHasEnded(t *testing.T) {
	for status, want := range map[client.Status]string{
		client.Completed: "starter fork a --message TEXT", client.Failed: "starter resume a", client.Cancelled: "starter resume a",
		client.Terminated: "starter resume a", client.TimedOut: "starter resume a",
	} {
		err := WithExitCode(&client.ClosedError{Operation: "message", ID: "a", Status: status}, "q")
		require.ErrorContains(t, err, want)
		require.Equal(t, status == client.Completed, !strings.Contains(err.Error(), "resume"), status)
		require.Equal(t, exit.WrongState, exit.CodeOf(err))
	}
}
