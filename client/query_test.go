package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// A program whose context ends while an agent reads its state is told that, and gets no empty state.
func TestStateThatIsNotReadIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client.New(&reading{growing: running(), cancel: cancel}, "")
	_, err := c.Describe(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

// reading is a Temporal client with an agent that reads its state. It ends the context of the caller at the first query.
type reading struct {
	growing
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
		c := client.New(&refusing{growing: running(), errs: []error{err, err, err}}, "")
		look, err := c.Describe(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, client.Waiting, look.Status)
	}
}

// refusing is a Temporal client with an agent that waits. Its first queries fail with the given errors.
type refusing struct {
	growing
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

// running returns a Temporal client with a running agent that has no history.
func running() growing { return growing{ended: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING} }
