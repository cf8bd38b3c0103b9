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

// Whoever cannot decode what a codec has encoded is told so, and what is missing.
func TestWhatIsEncodedIsNamed(t *testing.T) {
	dc := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
	codec := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc, EncodeCommonAttributes: true})
	plain := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{})
	failure := codec.ErrorToFailure(temporal.NewApplicationError("slow down", "ServerError"))
	r := New(nil, "").retry([]*workflowpb.PendingActivityInfo{{
		ActivityType: &commonpb.ActivityType{Name: protocol.CallModel}, Attempt: 2, LastFailure: failure,
	}})
	require.Equal(t, "the text of the failure is encoded; "+needsCodec, r.Message)
	err := wrap("wait for", "a", plain.FailureToError(failure))
	require.ErrorIs(t, err, ErrEncoded)
	require.EqualError(t, err, `wait for agent "a": the text of the failure is encoded; `+needsCodec)

	payload, err := dc.ToPayload("secret")
	require.NoError(t, err)
	var text string
	err = wrap("query", "a", converter.GetDefaultDataConverter().FromPayload(payload, &text))
	require.ErrorIs(t, err, ErrEncoded)
	require.ErrorIs(t, err, converter.ErrEncodingIsNotSupported)
	require.ErrorContains(t, err, "TEMPORAL_CODEC_ENDPOINT")
	require.NotErrorIs(t, wrap("query", "a", errors.New("odd")), ErrEncoded)
}
