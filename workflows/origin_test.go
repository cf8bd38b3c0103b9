package workflows_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A forged start input cannot make a run read the transcript of another agent, or use a state that no run had.
func TestAttackForgedOrigin(t *testing.T) {
	state, err := protocol.Pack(agent.New("victim", agent.Start{Agent: "x", Mode: agent.Chat}, 0))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		start agent.Start
		says  string
	}{
		"another agent":             {agent.Start{From: &agent.RunRef{ID: "victim", RunID: "r"}}, `from.id is "victim", which is not this agent's ID, "mine"`},
		"resume another agent":      {agent.Start{From: &agent.RunRef{ID: "victim", RunID: "r", Resume: true}}, `which is not this agent's ID`},
		"a run that was not rolled": {agent.Start{From: &agent.RunRef{ID: "mine", RunID: "r"}}, "from.run_id"},
		"a state":                   {agent.Start{State: state}, "this run does not continue an earlier run"},
		"a state, to be forked":     {agent.Start{State: state, From: &agent.RunRef{ID: "mine", Fork: true}}, "this run does not continue an earlier run"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "mine"})
			c.start.Agent, c.start.Mode = "x", agent.Chat
			b.ExecuteWorkflow(protocol.AgentWorkflow, c.start)
			var failed *temporal.ApplicationError
			require.ErrorAs(t, b.GetWorkflowError(), &failed)
			require.Equal(t, protocol.Refused, failed.Type())
			require.True(t, failed.NonRetryable())
			require.ErrorContains(t, failed, c.says)
		})
	}
}

// The workflow refuses an ID that Temporal accepts but HTTP headers and addresses do not.
func TestNewcomerIDThatIsNotASCII(t *testing.T) {
	for _, id := range []string{"süß", "a\nb", "a\x1b[2Jb", "a\u202eb", "\x7f"} {
		b := newBench(t)
		b.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
		b.start(agent.Task, "go")
		var failed *temporal.ApplicationError
		require.ErrorAs(t, b.GetWorkflowError(), &failed)
		require.Equal(t, protocol.Refused, failed.Type())
		require.ErrorContains(t, failed, "characters other than printable ASCII; start the agent under another ID")
	}
	for _, id := range []string{"daily report-2026-11-22T00:00:00Z", "a/clerk-0011", strings.Repeat("~", 1000)} {
		b := newBench(t)
		b.model = replies(map[int]llm.Reply{1: llmtest.Say("done")})
		b.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
		b.start(agent.Task, "go")
		require.NoError(t, b.GetWorkflowError())
	}
}

// A query may have any numbers in its input, even negative ones. It returns the messages that exist, and no error.
func TestAttackQueryWithAnyNumber(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("done")})
	b.start(agent.Task, "go")
	numbers := []int{math.MinInt, -1, 0, 1, 2, 3, 4, math.MaxInt}
	for _, from := range numbers {
		for _, count := range numbers {
			for _, compact := range []bool{false, true} {
				_, err := b.QueryWorkflow(protocol.RequestQuery, protocol.RequestInput{From: from, Count: count, Compact: compact})
				require.NoError(t, err)
			}
			_, err := b.QueryWorkflow(protocol.TranscriptQuery, protocol.TranscriptInput{From: from, Limit: count})
			require.NoError(t, err)
		}
	}
}
