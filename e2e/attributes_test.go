package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// Where the namespace knows the search attributes, agents and their sub-agents are found by status, reason and cost, also after a
// reset, and each change of the status is one upsert.
func TestAgentsAreFoundBySearchAttributes(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: workflows.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
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
	w.moveTo(own)
	w.write("task_queue: " + w.queue + `
models:
  main: {model: m, base_url: "` + w.model.URL + `", price: {input: 2}}
agents:
  x: {model: main, agents: [clerk], limits: {depth: 1}}
  clerk: {model: main, instructions: You count.}
`)
	w.worker()
	w.must("run", "--chat", "-a", "x", "--id", "waits", "go")
	w.must("run", "-a", "x", "--id", "completed", "go")
	w.starter("run", "--chat", "-a", "x", "--id", "held", "refuse")
	w.attributes("waits", "waiting", "", 2)
	w.attributes("completed", "completed", "", 2)
	w.attributes("held", "held", "Unauthorized", 0)
	w.found(`ReagentAgent = "clerk" AND ReagentStatus = "completed"`, 2)
	w.found(`ReagentStatus = "held" AND ReagentReason = "Unauthorized"`, 1)
	w.found(`ReagentAgent = "x" AND ReagentCost > 1.5`, 2)

	w.must("send", "waits", "once more")
	w.attributes("waits", "waiting", "", 4)
	upserts := 0
	for event, err := range history.Events(t.Context(), w.temporal, agent.RunRef{ID: "waits", RunID: w.runID("waits")}) {
		require.NoError(t, err)
		if event.GetUpsertWorkflowSearchAttributesEventAttributes() != nil {
			upserts++
		}
	}
	require.Equal(t, 3, upserts, "waiting, running, waiting")
	w.reset("waits", "", 1)
	w.attributes("waits", "waiting", "", 4)
}

// found waits until Temporal lists so many workflows by a query.
func (w *world) found(query string, count int) {
	w.eventually(query, func() bool {
		list, err := w.temporal.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
		return err == nil && int(list.GetCount()) == count
	})
}

// attributes waits until an agent has these search attributes.
func (w *world) attributes(id, status, reason string, cost float64) {
	w.eventually(id+" is indexed as "+status, func() bool {
		found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
		if errors.As(err, new(*serviceerror.NotFound)) {
			return false
		}
		require.NoError(w.t, err)
		fields := found.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
		text := func(name string) (value string) {
			if fields[name] != nil {
				require.NoError(w.t, converter.GetDefaultDataConverter().FromPayload(fields[name], &value))
			}
			return value
		}
		var dollars float64
		if fields["ReagentCost"] != nil {
			require.NoError(w.t, converter.GetDefaultDataConverter().FromPayload(fields["ReagentCost"], &dollars))
		}
		return text("ReagentStatus") == status && text("ReagentReason") == reason && dollars == cost && text("ReagentAgent") == "x"
	})
}
