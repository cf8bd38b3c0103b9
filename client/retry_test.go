package client

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Retry has the text of a failure, even if the failure is encoded.
func TestRetryReadsEncodedFailures(t *testing.T) {
	dc := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
	failure := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: dc, EncodeCommonAttributes: true,
	}).ErrorToFailure(errors.New("slow down"))
	require.NotContains(t, failure.GetMessage(), "slow down")
	r := New(nil, "").WithConverter(dc).retry([]*workflowpb.PendingActivityInfo{{
		ActivityType: &commonpb.ActivityType{Name: protocol.CallModel}, Attempt: 2, LastFailure: failure,
	}})
	require.Equal(t, "slow down", r.Message)
}
