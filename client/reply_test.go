package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// listing is a Temporal client with an agent that has no sub-agents. Its first requests for a list fail.
type listing struct {
	*endless
	failures int
}

func (l *listing) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if l.failures > 0 {
		l.failures--
		return nil, serviceerror.NewUnavailable("the connection was lost")
	}
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (l *listing) GetWorkflowHistory(ctx context.Context, id, run string, poll bool, filter enumspb.HistoryEventFilterType) sdk.HistoryEventIterator {
	if poll {
		return l.endless.GetWorkflowHistory(ctx, id, run, poll, filter)
	}
	return l.growing.GetWorkflowHistory(ctx, id, run, poll, filter)
}

// waiting returns a client with an agent that has begun to wait for a person, and the ID of the agent.
func waiting(t *testing.T) (*listing, string) {
	temporal, id := recorded(t, "../workflows/testdata/histories/v0.1.0/waits~2.json.gz")
	temporal.runID = temporal.events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId() // as before the reset
	temporal.events, temporal.ended = temporal.events[:19], enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	return &listing{endless: &endless{temporal}}, id
}

// A program that waits for an answer is told which calls wait for a person, even if the calls cannot be read at first.
func TestReplyReturnsTheCallsThatWait(t *testing.T) {
	temporal, id := waiting(t)
	synctest.Test(t, func(t *testing.T) {
		for _, failures := range []int{0, 3} {
			temporal.failures = failures
			ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour)
			snap, err := client.New(temporal, "").Reply(ctx, id, "m", 0, nil)
			cancel()
			require.NoError(t, err)
			require.Equal(t, client.Waiting, snap.Status)
			require.Len(t, snap.Waiting, 2)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour)
		defer cancel()
		_, err := client.New(temporal, "").AwaitReply(ctx, id, "m", 0, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
