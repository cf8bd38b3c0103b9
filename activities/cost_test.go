package activities

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
)

// A cost limit needs a price, of the agent's models or of those below it. A worker with a limit that stops nothing does not start.
func TestCostLimitNeedsAPrice(t *testing.T) {
	limited := Agent{Name: "a", Model: "free", Agents: []string{"b"}, Limits: agent.Limits{Cost: agent.Dollars(1)}}
	priced := agent.Price{Input: 1}
	for name, c := range map[string]struct {
		own, below, spare agent.Price
		want              string
	}{
		"none":       {want: "agent a: limit Cost is set, but no model of the agent or of its sub-agents has a price"},
		"own":        {own: priced},
		"a fallback": {spare: priced},
		"below":      {below: priced},
		"negative":   {own: agent.Price{Output: -1}, want: "model free: the field Price has a price below zero"},
	} {
		t.Run(name, func(t *testing.T) {
			limited := limited
			limited.Fallback = []string{"spare"}
			_, err := New(Options{
				Temporal: struct{ client.Client }{}, Agents: []Agent{limited, {Name: "b", Model: "paid", Agents: []string{"a"}}},
				Models: map[string]Model{"free": {Price: c.own}, "paid": {Price: c.below}, "spare": {Price: c.spare}},
			})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
