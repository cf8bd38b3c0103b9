package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// pages is a Temporal client with one running agent, which answers each query for its transcript with the next page.
type pages struct {
	sdk.Client
	next   []protocol.TranscriptPage
	status enumspb.WorkflowExecutionStatus // from the first query on; running before
	asked  bool
}

func (p *pages) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	status := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if p.asked {
		status = p.status
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: protocol.AgentWorkflow}, Status: status,
	}}, nil
}

// GetWorkflowHistory returns a history that is deleted.
func (p *pages) GetWorkflowHistory(context.Context, string, string, bool, enumspb.HistoryEventFilterType) sdk.HistoryEventIterator {
	return deleted{}
}

type deleted struct{}

func (deleted) HasNext() bool { return true }

func (deleted) Next() (*historypb.HistoryEvent, error) {
	return nil, serviceerror.NewNotFound("deleted")
}

func (p *pages) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	p.asked = true
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
	c := client.New(&pages{status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, next: []protocol.TranscriptPage{
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

// An agent may end before it has read its state. A worker that answers queries then says for ever that the agent reads its state.
func TestAgentThatEndsBeforeItHasAStateIsNotWatchedForEver(t *testing.T) {
	c := client.New(&pages{status: enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, next: []protocol.TranscriptPage{{Status: agent.Running, Reading: true}}}, "")
	var last error
	for _, err := range c.Watch(t.Context(), "x", 0) {
		last = err
	}
	require.ErrorIs(t, last, client.ErrNotFound)
}

// A program whose context ends while an agent reads its state is told that, and gets no empty state.
func TestStateThatIsNotReadIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client.New(&reading{cancel: cancel}, "")
	_, err := c.Look(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

// reading is a Temporal client with an agent that reads its state. It ends the context of the caller at the first query.
type reading struct {
	pages
	cancel func()
}

func (r *reading) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	r.cancel()
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(protocol.StateView{Reading: true})
	return sdk.NewValue(encoded), err
}

// A query that Temporal refuses, because many clients query the agent, or that fails in a worker, is repeated.
func TestRefusedQueryIsRepeated(t *testing.T) {
	for _, err := range []error{
		serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "consistent query buffer is full"),
		serviceerror.NewQueryFailed("the SDK replayed a part of the history twice"),
	} {
		c := client.New(&refusing{errs: []error{err, err, err}}, "")
		look, err := c.Look(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, client.Waiting, look.Status)
	}
}

// refusing is a Temporal client with an agent that waits. Its first queries fail with the given errors.
type refusing struct {
	pages
	errs []error
}

func (r *refusing) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	if len(r.errs) > 0 {
		err := r.errs[0]
		r.errs = r.errs[1:]
		return nil, err
	}
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(protocol.StateView{Status: agent.Waiting})
	return sdk.NewValue(encoded), err
}
