package protocol_test

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// History omits the numbers of a tool call's input that follow from the defaults. The activity reads the same numbers.
func TestOmittedNumbersOfToolCallsFollowFromDefaults(t *testing.T) {
	const usual = protocol.DefaultResultBytes
	limits := func(in protocol.CallToolInput) [3]int {
		return [3]int{protocol.ShownBytes(in.ResultBytes), protocol.ShownBytes(cmp.Or(in.ShownBytes, in.ResultBytes)), max(in.Batch, 1)}
	}
	for _, result := range []int{0, 100, usual, 1_000_000} {
		for _, shown := range []int{0, 100, usual, 1_000_000} {
			for _, batch := range []int{0, 1, 2} {
				in := protocol.CallToolInput{Ref: "read", ResultBytes: result, ShownBytes: shown, Batch: batch}
				require.Equal(t, limits(in), limits(in.OmitDefaults()), "%+v", in)
			}
		}
	}
	text, err := json.Marshal(protocol.CallToolInput{CallID: "c", Ref: "read", Arguments: "{}", ResultBytes: usual, ShownBytes: usual, Batch: 1}.OmitDefaults())
	require.NoError(t, err)
	require.JSONEq(t, `{"call_id":"c","ref":"read","arguments":"{}"}`, string(text))
}
