package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/llm"
)

func TestListShowsWhoMustActAndWhatItCost(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	spent := &agent.Spending{Usage: llm.Usage{InputTokens: 1200, OutputTokens: 34}, Cost: agent.Dollar / 100}
	var out bytes.Buffer
	require.NoError(t, printRows(&out, []listing.Row{
		{Entry: client.Entry{ID: "talk", Agent: "x", Started: began}, Snapshot: client.Snapshot{
			Status: client.Waiting, WaitsFor: client.WaitsForMessage, Task: "add\x1b[2J it up", Spent: spent,
		}},
		{Entry: client.Entry{ID: "sum", Agent: "x", Started: began}, Snapshot: client.Snapshot{Status: client.Completed, Stopped: "model_calls", Spent: &agent.Spending{}}},
		{Entry: client.Entry{ID: "odd", Agent: "x", Started: began}, Snapshot: client.Snapshot{Status: client.Unknown}},
	}, began.Add(3*time.Minute)))
	require.Equal(t, `ID    AGENT  STATUS                         WAITS FOR  TOKENS  COST     AGE  TASK
talk  x      waiting                        message    1234    $0.0100  3 m  add\x1b[2J it up
sum   x      completed (model calls limit)             0       -        3 m  
odd   x      unknown                                   ?       ?        3 m  
`, out.String())
}
