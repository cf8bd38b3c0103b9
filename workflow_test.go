package reagent_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Price is the type of an agent's answer.
type Price struct {
	Euros int `json:"euros"`
}

// execute runs a workflow. Its agents answer with the text of their message. It returns the IDs of the agents.
func execute(w func(workflow.Context) error) (ids []string, err error) {
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in agent.Start) (protocol.Result, error) {
		ids = append(ids, workflow.GetInfo(ctx).WorkflowExecution.ID)
		return protocol.Result{Answer: in.Message.Text}, nil
	}, workflow.RegisterOptions{Name: protocol.AgentWorkflow})
	env.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: "caller"})
	env.ExecuteWorkflow("caller")
	return ids, env.GetWorkflowError()
}

// Tasks that differ in a field run different agents, and so does a task with an ID.
func TestEachTaskHasAnAgentOfItsOwn(t *testing.T) {
	ids, err := execute(func(ctx workflow.Context) error {
		for _, task := range []reagent.Task{
			{Agent: "clerk", Message: "one"}, {Agent: "clerk", Message: "two"}, {Agent: "boss", Message: "one"}, {Agent: "clerk", Message: "one", ID: "own"},
			{Agent: "clerk", Message: "one", OutputSchema: []byte(`{"type":"string"}`)}, {Agent: "clerk", Message: "one", Images: []string{"https://x/y.png"}},
		} {
			result, err := reagent.Run(ctx, task)
			require.NoError(t, err)
			require.Equal(t, task.Message, result.Answer)
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, ids, 6)
	for i, id := range ids {
		require.NotContains(t, ids[i+1:], id)
	}
	require.Equal(t, "own", ids[3])
	require.Regexp(t, `^default-test-workflow-id/clerk-[0-9a-f]{16}$`, ids[0])
}

func TestAnswerIsDecoded(t *testing.T) {
	_, err := execute(func(ctx workflow.Context) error {
		answer, err := reagent.RunAs[Price](ctx, reagent.Task{Agent: "clerk", Message: `{"euros":9}`})
		require.NoError(t, err)
		require.Equal(t, Price{9}, answer)
		_, err = reagent.RunAs[Price](ctx, reagent.Task{Agent: "clerk", Message: `{"euros":9,"EUROS":1}`})
		require.ErrorContains(t, err, `unknown field "EUROS"`)
		_, err = reagent.RunAs[Price](ctx, reagent.Task{Agent: "clerk", Message: "nine"})
		return err
	})
	require.ErrorContains(t, err, "the answer cannot be decoded into the type reagent_test.Price")
}
