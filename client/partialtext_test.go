package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// While a question aside is answered, the reply to the message grows on.
func TestQuestionAsideDoesNotHideThePartialText(t *testing.T) {
	heartbeat := func(key string, said protocol.Progress) *workflowpb.PendingActivityInfo {
		details, err := converter.GetDefaultDataConverter().ToPayloads(said)
		require.NoError(t, err)
		return &workflowpb.PendingActivityInfo{
			ActivityId: key, ActivityType: &commonpb.ActivityType{Name: protocol.CallModel}, Attempt: 1,
			State: enumspb.PENDING_ACTIVITY_STATE_STARTED, HeartbeatDetails: details,
		}
	}
	got := New(nil, "").partialText([]*workflowpb.PendingActivityInfo{
		heartbeat("aside", protocol.Progress{Attempt: 1}),
		heartbeat("reply", protocol.Progress{Attempt: 1, Tried: 1, Text: "On the", Said: 6}),
	})
	require.Equal(t, &PartialText{Key: "reply", Text: "On the", Said: 6, Attempt: 1}, got)
}
