package client_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// talking is a Temporal client with an agent that takes one message. It counts the requests.
type talking struct {
	*growing
	view             protocol.StateView
	queries, updates int
	// reply is the number of events up to the answer.
	reply int
}

func (t *talking) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	t.queries++
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(t.view)
	return sdk.NewValue(encoded), err
}

func (t *talking) UpdateWorkflow(context.Context, sdk.UpdateWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	if t.updates++; t.written.Load() == int64(len(t.events)) {
		return nil, serviceerror.NewNotFound("workflow execution already completed")
	}
	t.written.Store(int64(t.reply))
	return accepted{}, nil
}

type accepted struct{ sdk.WorkflowUpdateHandle }

func (accepted) Get(context.Context, any) error { return nil }

// talk returns a client with an agent that gets its second message, and the IDs of the agent and of the message.
func talk(t *testing.T, status agent.Status) (temporal *talking, id, message string) {
	recorded, id := recorded(t, "../workflows/testdata/histories/v0.1.0/chat.json.gz")
	for i, e := range recorded.events {
		input := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput()
		if input.GetName() != protocol.MessageUpdate {
			continue
		}
		var m agent.QueuedMessage
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input.GetArgs(), &m))
		recorded.written.Store(int64(i))
		view := protocol.StateView{Status: status, Messages: 2, Run: protocol.RunSuffix(recorded.runID), Entry: 2}
		return &talking{growing: recorded, view: view, reply: len(recorded.events) - 1}, id, m.ID
	}
	require.Fail(t, "no message")
	return nil, "", ""
}

// A program that sends a message and waits for the answer describes the agent once before and once after the message, and replays it at
// most once.
func TestAMessageAndItsAnswerNeedNoRequestTwice(t *testing.T) {
	for _, status := range []agent.Status{agent.Waiting, agent.Running, agent.Held} {
		temporal, id, message := talk(t, status)
		synctest.Test(t, func(t *testing.T) {
			a := client.New(temporal, "").Agent(id)
			_, err := a.TaskQueue(t.Context())
			require.NoError(t, err)
			before, err := a.Await(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, status, before.Status)
			sent, err := a.Send(t.Context(), client.Message{ID: message, Text: "next", Steer: status != agent.Waiting})
			require.NoError(t, err)
			end, err := a.AwaitReply(t.Context(), sent.MessageID, before.Count, nil)
			require.NoError(t, err)
			require.NotEmpty(t, end.Answer)
		})
		require.EqualValues(t, 2, temporal.described.Load(), status)
		require.Equal(t, 1, temporal.queries, status)
		require.Equal(t, 1, temporal.updates, status)
	}
}

// The message to an agent that has ended needs no worker.
func TestAMessageToAnEndedAgentNeedsNoQuery(t *testing.T) {
	temporal, id, _ := talk(t, agent.Waiting)
	temporal.written.Store(int64(len(temporal.events)))
	temporal.ended = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	a := client.New(temporal, "").Agent(id)
	before, err := a.Await(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, client.Failed, before.Status)
	_, err = a.Send(t.Context(), client.Message{Text: "next", Steer: true})
	closed := new(client.ClosedError)
	require.ErrorAs(t, err, &closed)
	require.Equal(t, client.Failed, closed.Status)
	require.EqualValues(t, 2, temporal.described.Load())
	require.Zero(t, temporal.queries)
}

// An Agent that has sent a message asks anew: the agent has changed.
func TestAgentForgetsWhatItHasReadBeforeAMessage(t *testing.T) {
	temporal, id, message := talk(t, agent.Waiting)
	a := client.New(temporal, "").Agent(id)
	_, err := a.Describe(t.Context())
	require.NoError(t, err)
	_, err = a.Send(t.Context(), client.Message{ID: message, Text: "next"})
	require.NoError(t, err)
	temporal.view.Status = agent.Running
	after, err := a.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Running, after.Status)
}
