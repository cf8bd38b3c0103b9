package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If the namespace has the search attributes of this project, agents and their sub-agents can be found by name, status,
// reason and cost, even after a reset. Each change of the status writes the search attributes once.
func TestAgentsAreFoundBySearchAttributes(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Messages[0].Content == "You count.":
			return llmtest.Say("counted"), nil
		case last.Role == llm.User && strings.HasPrefix(last.Content, "refuse"):
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Err: errors.New("no")}
		case last.Role == llm.User:
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		reply := llmtest.Say("done")
		reply.Usage = llm.Usage{InputTokens: 1_000_000}
		return reply, nil
	}, nil, "")
	w.MoveTo(own)
	w.WriteConfig("task_queue: " + w.Queue + `
models:
  main: {model: m, base_url: "` + w.Model.URL + `", price: {input: 2}}
agents:
  x: {model: main, agents: [clerk], limits: {depth: 1}}
  clerk: {model: main, instructions: You count.}
`)
	w.Worker()
	w.Must("run", "--chat", "-a", "x", "--id", "waits", "go")
	w.Must("run", "-a", "x", "--id", "completed", "go")
	w.Starter("run", "--chat", "-a", "x", "--id", "held", "refuse")
	attributes(w, "waits", "waiting", "", 2)
	attributes(w, "completed", "completed", "", 2)
	attributes(w, "held", "held", "Unauthorized", 0)
	found(w, `ReagentAgent = "clerk" AND ReagentStatus = "completed"`, 2)
	found(w, `ReagentStatus = "held" AND ReagentReason = "Unauthorized"`, 1)
	found(w, `ReagentAgent = "x" AND ReagentCost > 1.5`, 2)

	w.Must("send", "waits", "once more")
	attributes(w, "waits", "waiting", "", 4)
	upserts := 0
	for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: "waits", RunID: w.RunID("waits")}) {
		require.NoError(t, err)
		if event.GetUpsertWorkflowSearchAttributesEventAttributes() != nil {
			upserts++
		}
	}
	require.Equal(t, 3, upserts, "waiting, running, waiting")
	w.Reset("waits", "", 1)
	attributes(w, "waits", "waiting", "", 4)
}

// found waits until Temporal finds the given number of workflows for a query.
func found(w *world.World, query string, count int) {
	w.Eventually(query, func() bool {
		list, err := w.Temporal.CountWorkflow(w.T.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
		return err == nil && int(list.GetCount()) == count
	})
}

// attributes waits until Temporal has this status, reason and cost in dollars in the search attributes of the agent
// with the given ID. The name of the agent must be x.
func attributes(w *world.World, id, status, reason string, cost float64) {
	w.Eventually(id+" is indexed as "+status, func() bool {
		found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
		if errors.As(err, new(*serviceerror.NotFound)) {
			return false
		}
		require.NoError(w.T, err)
		fields := found.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
		text := func(name string) (value string) {
			if fields[name] != nil {
				require.NoError(w.T, converter.GetDefaultDataConverter().FromPayload(fields[name], &value))
			}
			return value
		}
		var dollars float64
		if fields["ReagentCost"] != nil {
			require.NoError(w.T, converter.GetDefaultDataConverter().FromPayload(fields["ReagentCost"], &dollars))
		}
		return text("ReagentStatus") == status && text("ReagentReason") == reason && dollars == cost && text("ReagentAgent") == "x"
	})
}

// `starter setup` registers the search attributes. Then agents are found by whom they wait for, and the inbox shows their calls.
func TestSetupRegistersTheSearchAttributes(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Which?"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "    tools: [ask_user]\n")
	w.MoveTo(own)
	w.Worker()
	w.Must("run", "--detach", "--id", "before", "go")
	w.Eventually("the inbox shows the agent without attributes", func() bool { return strings.Contains(w.Must("inbox"), "before (x)") })
	_, stderr, code := w.Starter("setup")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "ReagentWaitingFor")
	_, stderr, code = w.Starter("setup")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "has all search attributes")
	set := world.Objects[struct {
		Type       string
		Registered []string
	}](w, "setup", "--json")
	require.Equal(t, "setup", set[0].Type)
	require.Empty(t, set[0].Registered)
	started := 0
	w.Eventually("an agent starts with the attributes", func() bool {
		w.Must("run", "--detach", "--id", fmt.Sprint("after", started), "go")
		started++
		response, err := w.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `ReagentWaitingFor = "answer"`})
		return err == nil && len(response.GetExecutions()) > 0
	})
	w.Eventually("the inbox shows all", func() bool { return strings.Count(w.Must("inbox"), "asks: Which?") == started+1 })
	require.Contains(t, w.Must("list", "--waiting"), "before", "an agent without attributes")
}
