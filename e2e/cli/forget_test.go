package cli_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// customers is a model that runs for ever, breaks, or asks its scout, as the message says. The scout runs for ever.
func customers(ctx context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1].Content
	switch {
	case req.Messages[0].Content == "You look." && last != "look quickly", last == "run for ever":
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	case last == "break":
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "broken"}
	case strings.HasPrefix(last, "look") && req.Messages[0].Content != "You look.":
		return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"`+last+`"}`)), nil
	}
	return llmtest.Say("done"), nil
}

const withScout = "    agents: [scout]\n    background: [scout]\n  scout:\n    model: main\n    description: looks\n    instructions: You look.\n"

// listed returns the runs of agents that Temporal lists. The keys are workflow IDs and run IDs, and the values are 0.
func listed(w *world.World) map[[2]string]int64 {
	all := map[[2]string]int64{}
	page, err := w.Temporal.ListWorkflow(w.T.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Agent'", PageSize: 1000})
	require.NoError(w.T, err)
	for _, info := range page.GetExecutions() {
		all[[2]string{info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()}] = 0
	}
	return all
}

// runs is [listed], and the values are the lengths of the histories.
func runs(w *world.World) map[[2]string]int64 {
	all := listed(w)
	for run := range all {
		found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), run[0], run[1])
		require.NoError(w.T, err, run)
		all[run] = found.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	return all
}

// After `starter forget`, Temporal has no run of an agent that matched, of a fork of it, or of a sub-agent below it, whatever the agents were
// doing. All other runs are as they were.
func TestForgetDeletesAllOfACustomerAndNothingElse(t *testing.T) {
	t.Parallel()
	own := world.StartDeletingServer(t)
	w := world.New(t, customers, nil, withScout)
	w.MoveTo(own)
	worker := w.Worker()
	for _, customer := range []string{"42", "43"} {
		id := func(name string) string { return name + "-" + customer }
		start := func(name string, code int, args ...string) {
			args = append([]string{"run", "-a", "x", "--id", id(name), "--metadata", "customer=" + customer}, args...)
			_, errs, got := w.Starter(args...)
			require.Equal(t, code, got, "%s: %s", name, errs)
		}
		start("running", 0, "--detach", "run for ever")
		start("waiting", 0, "--chat", "hello")
		start("held", 3, "--chat", "break")
		start("completed", 0, "hello")
		start("failed", 3, "break")
		start("background", 0, "--chat", "look")
		start("ended-background", 0, "look quickly")
		start("reset", 0, "--chat", "hello")
		w.Reset(id("reset"), "", 1)
		w.Eventually("it was reset", func() bool { return w.Show(id("reset")).Status == "waiting" })
		start("continued", 0, "--chat", "hello")
		w.Roll(id("continued"))
		w.Must("show", id("continued")) // show answers when the new run has begun
		start("terminated", 0, "--chat", "hello")
		w.TerminateAgent(id("terminated"))
		w.Must("resume", "--detach", id("terminated"))
		w.Must("show", id("terminated"))
		w.Must("fork", "--detach", "--id", id("fork"), id("waiting"))
		w.Must("fork", "--detach", "--id", id("fork-of-fork"), id("fork"))
		w.Must("show", id("fork-of-fork"))
		// A workflow that ended has the ID of another customer's agent.
		in := agent.Start{Agent: "x", Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: uuid.NewString(), Text: "hello"}, Metadata: agent.Metadata{"customer": customer}}
		run, err := w.Temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{
			ID: "daily", TaskQueue: w.Queue, Memo: workflows.Memo(in), WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, protocol.AgentWorkflow, in)
		require.NoError(t, err)
		require.NoError(t, run.Get(t.Context(), nil))
	}
	// The sub-agent of another customer's agent that worked for this customer has the metadata of the message.
	w.Must("run", "--chat", "-a", "x", "--id", "shared", "--metadata", "customer=43", "hello")
	w.Must("send", "shared", "--metadata", "customer=42", "look")

	ofOthers := func(all map[[2]string]int64) map[[2]string]int64 {
		others := maps.Clone(all)
		maps.DeleteFunc(others, func(run [2]string, _ int64) bool {
			return strings.Contains(run[0], "-42") || strings.HasPrefix(run[0], "shared/") || strings.HasPrefix(run[0], "shared-")
		})
		return others
	}
	var before map[[2]string]int64
	w.Eventually("Temporal lists all", func() bool {
		before = runs(w)
		return len(before) == 2*(12+2+3+1)+2 // 12 agents, 2 sub-agents, second runs of 3, daily; shared and its sub-agent
	})
	dailies := slices.DeleteFunc(slices.Collect(maps.Keys(before)), func(run [2]string) bool { return run[0] != "daily" })
	require.Len(t, dailies, 2)

	out, errs, code := w.Starter("forget", "--metadata", "customer=42", "--dry-run", "--json")
	require.Zero(t, code, errs)
	require.Equal(t, 16, strings.Count(out, `"outcome":"would"`), out)
	require.Contains(t, errs, "16 agents would be forgotten; nothing was done")
	_, errs, code = w.Starter("forget", "--metadata", "customer=42")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "nothing was done: add --yes")
	_, _, code = w.Starter("forget")
	require.Equal(t, 2, code)
	require.Equal(t, before, runs(w))

	out, errs, code = w.Starter("forget", "--metadata", "customer=42", "--yes", "--rate", "0", "--json")
	require.Zero(t, code, "%s%s", out, errs)
	require.Equal(t, 16, strings.Count(out, `"outcome":"done"`), out)
	require.Contains(t, errs, "16 of 16 agents forgotten\n")
	require.Contains(t, errs, "the history of shared, which has the answer of a forgotten sub-agent")
	require.Contains(t, errs, "--results-dir")
	gone := 0
	for run := range before {
		_, err := w.Temporal.DescribeWorkflowExecution(t.Context(), run[0], run[1])
		if errors.As(err, new(*serviceerror.NotFound)) {
			gone++
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 12+2+3+1+1, gone)
	var after map[[2]string]int64
	w.Eventually("Temporal lists the others only", func() bool { after = listed(w); return len(after) == len(before)-gone })
	after = runs(w)
	expected := ofOthers(before)
	for _, d := range dailies {
		if _, ok := after[d]; !ok {
			delete(expected, d)
		}
	}
	delete(expected, [2]string{"shared", w.RunID("shared")}) // it was told that its sub-agent has ended
	delete(after, [2]string{"shared", w.RunID("shared")})
	require.Equal(t, expected, after)
	last, err := w.Temporal.DescribeWorkflowExecution(t.Context(), "daily", "")
	require.NoError(t, err, "the newer agent with the same ID stays")
	require.Contains(t, after, [2]string{"daily", last.GetWorkflowExecutionInfo().GetExecution().GetRunId()})

	_, errs, code = w.Starter("forget", "--metadata", "customer=42", "--yes")
	require.Zero(t, code)
	require.Contains(t, errs, "No agent matches")

	// Without a worker, agents that have not ended are terminated.
	worker.Kill()
	_, errs, code = w.Starter("forget", "--where", `open and metadata.customer == "43" and parent == "" and id != "shared"`, "--yes", "--rate", "0", "--grace", "1s")
	require.Zero(t, code, errs)
	for run := range listed(w) {
		require.NotContains(t, []string{"running-43", "waiting-43", "background-43"}, run[0])
	}
	require.Equal(t, map[string]string{"completed-43": "completed", "failed-43": "failed", "shared": "running", "daily": "completed"}, shown(w, "completed-43", "failed-43", "shared", "daily"))
}

// shown returns the statuses of agents, as Temporal has them.
func shown(w *world.World, ids ...string) map[string]string {
	all := map[string]string{}
	for _, id := range ids {
		found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
		require.NoError(w.T, err, id)
		all[id] = strings.ToLower(found.GetWorkflowExecutionInfo().GetStatus().String())
	}
	return all
}
