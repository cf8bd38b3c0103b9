package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// Whatever an agent does or waits for, a person is told what comes next, with the command for it.
func TestNextNamesACommandInEveryState(t *testing.T) {
	waits := func(key agent.Key, f agent.WaitsFor) agent.Call {
		return agent.Call{Key: key, Name: "pay", Arguments: "{}", Wait: agent.CallWait{For: f}}
	}
	for want, s := range map[string]client.Snapshot{
		"Next: nobody has to act; `starter tail a` follows the agent":                                      {Status: client.Running},
		"Next: `starter send a TEXT` or `starter chat a`":                                                  {Status: client.Waiting, WaitsFor: client.WaitsForMessage},
		"Next: the sub-agents; `starter inbox` shows whether one of their calls waits for you":             {Status: client.Waiting, WaitsFor: client.WaitsForSubAgents},
		"Next: go on with `starter send a TEXT`":                                                           {Status: client.Held, Class: agent.Interrupted},
		"Next: remove the cause of the failure, then go on with `starter send a TEXT`":                     {Status: client.Held, Class: "Other"},
		"Next: check the plan and the billing of the API key, then go on with `starter resume a --reload`": {Status: client.Failed, Class: string(llm.QuotaExceeded)},
		"Next: start a new agent with another message: `starter run -a x TEXT`":                            {Status: client.Failed, Class: agent.MessageRefused, Agent: "x"},
		"Next: see what it did with `starter show a`; let it go on with `starter resume a`":                {Status: client.Cancelled},
		"Next: nobody has to act; `starter fork a --message TEXT` goes on from the answer in a new agent":  {Status: client.Completed},
		"Next: `starter approve a 01234567` or `starter deny a 01234567`\nNext: `starter answer a --call 89abcdef \"…\"`": {
			Status: client.Waiting, WaitsFor: client.WaitsForApproval,
			Pending: []agent.Call{waits("tool-0123456789", client.WaitsForApproval), {Name: "read"}, waits("tool-89abcdef01", client.WaitsForAnswer)},
		},
	} {
		s.ID = "a"
		require.Equal(t, want, Next(s))
	}
	many := client.Snapshot{ID: "a"}
	for i := range 9 {
		many.Pending = append(many.Pending, waits(agent.Key(fmt.Sprintf("tool-0000000%d", i)), client.WaitsForApproval))
	}
	lines := strings.Split(Next(many), "\n")
	require.Len(t, lines, maxNext+1)
	require.Equal(t, "Next: see all that waits with `starter inbox`", lines[maxNext])
}
