package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/workflows"
)

// pages is a Temporal client with one running agent, which answers each query for its transcript with the next page.
type pages struct {
	sdk.Client
	next []workflows.Transcript
}

func (p *pages) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: workflows.Agent}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (p *pages) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	page := p.next[0]
	if len(p.next) > 1 {
		p.next = p.next[1:]
	}
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(page)
	return sdk.NewValue(encoded), err
}

// While a resumed agent reads its state it has no messages. A program that watches it from a later message is not told that the
// agent was reset, and gets no message twice.
func TestAgentThatReadsItsStateIsNotRewound(t *testing.T) {
	said := func(text string) agent.Message {
		return agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}}
	}
	c := client.New(&pages{next: []workflows.Transcript{
		{Status: agent.Running, Reading: true},
		{Status: agent.Waiting, Count: 3, Messages: []agent.Message{said("third")}},
		{Status: agent.Waiting, Count: 3},
	}}, "")
	var got []string
	for p, err := range c.Watch(t.Context(), "x", 2) {
		require.NoError(t, err)
		require.False(t, p.Rewound)
		if p.Message != nil {
			got = append(got, p.Message.Content)
		}
		if p.Status == client.Waiting {
			break
		}
	}
	require.Equal(t, []string{"third"}, got)
}
