package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// failing is a Temporal client whose workflows have failed.
type failing struct {
	sdk.Client
	sdk.WorkflowRun

	err error
}

func (f failing) GetWorkflow(context.Context, string, string) sdk.WorkflowRun { return f }

func (f failing) Get(context.Context, any) error { return f.err }

// answered is a Temporal client whose workflows have completed with the result.
type answered struct {
	sdk.Client
	sdk.WorkflowRun

	result protocol.Result
}

func (a answered) GetWorkflow(context.Context, string, string) sdk.WorkflowRun { return a }

func (a answered) Get(_ context.Context, out any) error {
	*out.(*protocol.Result) = a.result
	return nil
}

// The text that stands in place of a refused answer is no answer.
func TestARefusedAnswerIsAnError(t *testing.T) {
	refusal := agent.RefusedText{Kind: agent.TextAnswer, GivenVerdict: agent.GivenVerdict{Guardrail: "words", Action: agent.TextRefused, Reason: "rude"}}
	ended := answered{result: protocol.Result{Answer: refusal.Reply()}}
	_, err := client.New(ended, "").Answer(t.Context(), "a")
	require.NoError(t, err)

	ended.result.Refusal = &refusal
	text, err := client.New(ended, "").Answer(t.Context(), "a")
	require.Empty(t, text)
	require.EqualError(t, err, "agent a has not answered: The answer was refused by the guardrail words: rude")
	require.Equal(t, &client.RefusedError{ID: "a", Refusal: refusal}, err)
}

// So is a refused task. A worker of an earlier version does not say which guardrail has refused it.
func TestARefusedTaskIsAnError(t *testing.T) {
	refusal := agent.RefusedText{Kind: agent.TextMessage, GivenVerdict: agent.GivenVerdict{Guardrail: "words", Action: agent.TextRefused, Reason: "rude"}}
	failed := failing{err: temporal.NewApplicationError(refusal.Reply(), agent.MessageRefused, agent.Spending{}, refusal)}
	_, err := client.New(failed, "").Answer(t.Context(), "a")
	require.Equal(t, &client.RefusedError{ID: "a", Refusal: refusal}, err)

	failed.err = temporal.NewApplicationError(refusal.Reply(), agent.MessageRefused, agent.Spending{})
	_, err = client.New(failed, "").Answer(t.Context(), "a")
	require.ErrorContains(t, err, "The message was refused by the guardrail words: rude")
}

// A program can tell an agent that no worker knows from one that failed at its work.
func TestAnswerNamesAnUnknownAgent(t *testing.T) {
	failed := failing{err: temporal.NewApplicationError("Lookup does not find it", client.UnknownAgent)}
	_, err := client.New(failed, "").Answer(t.Context(), "a")
	require.ErrorIs(t, err, client.ErrUnknownAgent)
	require.EqualError(t, err, `agent "a" failed: Lookup does not find it`)

	failed.err = temporal.NewApplicationError("the model is away", "Other")
	_, err = client.New(failed, "").Answer(t.Context(), "a")
	require.Error(t, err)
	require.NotErrorIs(t, err, client.ErrUnknownAgent)
}
