package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// Retry distinguishes three failures of an attempt: the endpoint failed, the worker sent no heartbeats, or the call exceeded its time limit.
// It counts attempts as the activity does.
func TestRetryTellsLossesApartAndCountsAttempts(t *testing.T) {
	details, err := converter.GetDefaultDataConverter().ToPayloads(protocol.Progress{Tried: 2, Attempt: 4})
	require.NoError(t, err)
	pending := func(failure *failurepb.Failure, state enumspb.PendingActivityState, attempt int32) *Retry {
		return New(nil, "").retry([]*workflowpb.PendingActivityInfo{{
			ActivityType: &commonpb.ActivityType{Name: protocol.CallModel}, Attempt: attempt, LastFailure: failure,
			HeartbeatDetails: details, State: state,
		}})
	}
	timeout := func(kind enumspb.TimeoutType) *failurepb.Failure {
		return &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: kind}}}
	}
	failed := func(class llm.Class) *failurepb.Failure {
		return &failurepb.Failure{Message: "no", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: string(class)}}}
	}
	const started, scheduled = enumspb.PENDING_ACTIVITY_STATE_STARTED, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED

	lost := pending(timeout(enumspb.TIMEOUT_TYPE_HEARTBEAT), started, 4)
	require.Equal(t, Retry{What: "model", Class: "Timeout", Message: "the worker sent no more heartbeats: it died, or it could not reach Temporal", Attempt: 2}, *lost)
	require.Equal(t, "the call took longer than its time limit", pending(timeout(enumspb.TIMEOUT_TYPE_START_TO_CLOSE), started, 4).Message)
	require.Equal(t, Retry{What: "model", Class: "Overloaded", Message: "no", Attempt: 2, Limit: 8}, *pending(failed(llm.Overloaded), started, 4))
	require.Equal(t, Retry{What: "model", Class: "EmptyReply", Message: "no", Attempt: 3, Limit: 3}, *pending(failed(llm.EmptyReply), scheduled, 5))
}
