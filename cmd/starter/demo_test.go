package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/app/demo"
)

// The demo fails if it counted a repeat, even if the agent completed.
func TestDemoFailsOnARepetition(t *testing.T) {
	require.NoError(t, verdict(demo.Summary{Status: client.Completed}))
	require.Equal(t, exit.Failure, exit.CodeOf(verdict(demo.Summary{Status: client.Completed, Repeated: 1})))
	require.Equal(t, exit.AgentFailed, exit.CodeOf(verdict(demo.Summary{Status: client.Failed})))
}

func TestDemoTakesNoServerOfOthers(t *testing.T) {
	code, _, stderr := starter(t, "demo", "--address", "127.0.0.1:1")
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, "leave out --address")
}
