package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/client"
)

// failing is a Temporal client whose workflows have failed.
type failing struct {
	sdk.Client
	sdk.WorkflowRun

	err error
}

func (f failing) GetWorkflow(context.Context, string, string) sdk.WorkflowRun { return f }

func (f failing) Get(context.Context, any) error { return f.err }

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
