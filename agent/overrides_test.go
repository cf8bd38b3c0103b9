package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A limit that is lowered is the lower one of both, and zero is no limit.
func TestLimitsAreOnlyLowered(t *testing.T) {
	own := agent.Limits{ModelCalls: 10, Cost: agent.Dollars(1), Depth: 2}
	got := own.Lowered(agent.Limits{ModelCalls: 20, Tokens: 100, Cost: agent.Dollars(0.5), Time: time.Minute})
	require.Equal(t, agent.Limits{ModelCalls: 10, Tokens: 100, Cost: agent.Dollars(0.5), Time: time.Minute, Depth: 2}, got)
	require.Equal(t, own, own.Lowered(agent.Limits{}))
	require.Equal(t, agent.Limits{}, agent.Limits{}.Lowered(agent.Limits{}))
}

func TestAttackMetadataAndOverridesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for _, m := range []agent.Metadata{
		{"": "x"}, {"a b": "x"}, {"1": "x"}, {"a": "\x1b[2J"}, {"a": "\xff"}, {"a": long}, {strings.Repeat("a", 65): "x"},
		{agent.CallerReference: ""}, {agent.CallerReference: "Bearer x"}, {agent.CallerReference: "eyJhbGciOiJub25lIn0.e30."},
		{agent.CallerReference: strings.Repeat("x", 201)},
	} {
		require.Error(t, m.Check(), "%.40q", m)
	}
	many := agent.Metadata{}
	for i := range agent.MaxMetadata + 1 {
		many["n"+strings.Repeat("n", i)] = ""
	}
	require.Error(t, many.Check())
	require.NoError(t, agent.Metadata{"customer.id_1-x": "Ann Doe, 42 €"}.Check())
	for _, o := range []agent.Overrides{
		{Model: long}, {ReasoningEffort: long}, {Instructions: long}, {Tools: make([]string, 2000)}, {Limits: agent.Limits{Depth: 1}},
		{Limits: agent.Limits{Tokens: -1}}, {Limits: agent.Limits{Time: -1}},
	} {
		require.Error(t, o.Check(), "%.40v", o)
		require.Error(t, agent.Start{Agent: "x", Mode: agent.Chat, Overrides: o}.Check())
	}
	require.Error(t, agent.Start{Agent: "x", Mode: agent.Chat, Metadata: many}.Check())
	require.ErrorIs(t, agent.CheckMessage(agent.QueuedMessage{ID: "m", Text: "go", Metadata: many}), agent.ErrMessage)
}
