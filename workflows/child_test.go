package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// stuckClerk is an agent whose clerk asks a tool that never answers.
func stuckClerk(t *testing.T) *bench {
	b := newBench(t)
	b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
		return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions("not yet", protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: 1000 * time.Hour})
	}
	calls := 0
	b.model = func(count int) (llm.Reply, error) {
		switch calls++; {
		case calls == 1:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		case count == 1:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), nil
		}
		return llmtest.Say("without the clerk"), nil
	}
	return b
}

// The agent waits for a sub-agent without a budget as long as the sub-agent makes progress.
func TestSubAgentWithoutABudgetIsInterruptedWhenNothingHappensInIt(t *testing.T) {
	b := stuckClerk(t)
	idle := []time.Duration{0, 5 * time.Minute, 15 * time.Minute}
	var looks []time.Duration
	began := b.Now()
	b.RegisterActivityWithOptions(func(context.Context, protocol.ReadProgressInput) (protocol.AgentProgress, error) {
		last := idle[0]
		idle = idle[1:]
		looks = append(looks, b.Now().Sub(began).Round(time.Minute))
		return protocol.AgentProgress{IdleMS: last.Milliseconds()}, nil
	}, activity.RegisterOptions{Name: protocol.ReadProgress})
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Contains(t, b.transcript(t)[2], "tool: no result yet: no progress for 15 minutes; the agent works on.")
	require.Equal(t, "assistant: without the clerk", b.transcript(t)[3])
	require.Equal(t, []time.Duration{15 * time.Minute, 30 * time.Minute, 40 * time.Minute}, looks)
}

// The details show at most 20 sub-agents: those that are running and the newest that have ended.
func TestDetailsShowAFewSubAgents(t *testing.T) {
	b := newBench(t)
	const clerks = 60
	calls := 0
	b.model = func(count int) (llm.Reply, error) {
		switch calls++; {
		case calls == 1:
			var all []llm.ToolCall
			for i := range clerks {
				all = append(all, llmtest.ToolCall(fmt.Sprint(i), "clerk", fmt.Sprintf(`{"task":"task %d"}`, i)))
			}
			return llmtest.Call(all...), nil
		case count > clerks:
			return llmtest.Say("all done"), nil
		}
		return llmtest.Say("counted"), nil
	}
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	value, err := b.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var about sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&about))
	details := about.GetCurrentDetails()
	require.Equal(t, 20, strings.Count(details, ": done ("))
	require.Contains(t, details, "(`task 59`)")
	require.NotContains(t, details, "(`task 39`)")
	require.Contains(t, details, "- and 40 more\n")
	require.Contains(t, details, "](/namespaces/default-test-namespace/workflows/default-test-workflow-id%2Fclerk-")
}

// While an agent waits only for sub-agents in the background, the details ask nobody to act.
func TestDetailsSayThatSubAgentsInTheBackgroundAreNext(t *testing.T) {
	b := stuckClerk(t)
	b.def.Tools[0].Background = true
	b.RegisterDelayedCallback(func() {
		require.Contains(t, b.details(t), "**waiting** · ")
		require.Contains(t, b.details(t), "\n\n**Next**: the sub-agents in the background. Nobody has to act.")
		b.CancelWorkflow()
	}, time.Minute)
	b.start(agent.Task, "go")
}
