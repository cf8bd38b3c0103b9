package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// named is a Temporal client with one running agent, whose definition has this name. Other methods panic: nothing is sent.
type named struct {
	sdk.Client

	agent string
}

func (n named) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	name, err := converter.GetDefaultDataConverter().ToPayload(n.agent)
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: protocol.AgentWorkflow}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{protocol.MemoAgent: name}},
	}}, err
}

// A mistake in the input has one class, and nothing is sent: the Temporal client here would panic.
func TestSendOrStartRefusesWhatIsInvalid(t *testing.T) {
	message, start := client.Message{ID: "m", Text: "hi"}, client.StartOptions{Agent: "desk"}
	for field, c := range map[string]struct {
		id      string
		message client.Message
		start   client.StartOptions
	}{
		"Message.ID is empty":         {"a", client.Message{Text: "hi"}, start},
		`the field "text" is empty`:   {"a", client.Message{ID: "m"}, start},
		"white space":                 {"a", client.Message{ID: "m 1", Text: "hi"}, start},
		"the agent ID is empty":       {"", message, start},
		"the agent ID has 201 bytes":  {strings.Repeat("a", 201), message, start},
		"StartOptions.Agent is empty": {"a", message, client.StartOptions{}},
		"priority":                    {"a", message, client.StartOptions{Agent: "desk", Priority: 9}},
	} {
		sent, err := client.New(nil, "").SendOrStart(t.Context(), c.id, c.message, c.start)
		require.ErrorIs(t, err, client.ErrInvalid, field)
		require.ErrorContains(t, err, field)
		require.Equal(t, client.Sent{MessageID: c.message.ID}, sent, field)
	}
	_, err := client.New(nil, "").SendOrStart(t.Context(), "a", client.Message{Text: "hi"}, start)
	require.ErrorIs(t, err, agent.ErrMessage)
	_, err = client.New(nil, "").Send(t.Context(), "a", client.Message{ID: "m"})
	require.ErrorIs(t, err, client.ErrInvalid)
	require.ErrorIs(t, err, agent.ErrMessage)
}

// A message is not given to an agent with another definition, such as another team's agent with the same ID.
func TestSendOrStartRefusesAnotherAgent(t *testing.T) {
	_, err := client.New(named{agent: "night desk"}, "").SendOrStart(t.Context(), "a", client.Message{ID: "m", Text: "hi"}, client.StartOptions{Agent: "desk"})
	var other *client.OtherAgentError
	require.ErrorAs(t, err, &other)
	require.Equal(t, client.OtherAgentError{ID: "a", Agent: "night desk", Wanted: "desk"}, *other)
	require.EqualError(t, err, `agent "a" has the definition "night desk" and not "desk": choose another ID, or set StartOptions.Agent to "night desk"`)
}
