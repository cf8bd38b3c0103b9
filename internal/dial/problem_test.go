package dial_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/internal/dial"
)

// Only a server that does not answer is said to be missing.
func TestProblemSaysWhyThereIsNoConnection(t *testing.T) {
	for want, err := range map[string]error{
		"the Temporal server at db:1 refuses the connection: no key; check TEMPORAL_API_KEY or the TLS certificate":                  serviceerror.NewPermissionDenied("no key", ""),
		"no Temporal at db:1: start one with `go run ./cmd/starter dev`, or set TEMPORAL_ADDRESS (connection refused)":               serviceerror.NewUnavailable("connection refused"),
		"connect to Temporal at db:1: first record does not look like TLS; check the address, TEMPORAL_API_KEY and the TLS settings": errors.New("first record does not look like TLS"),
	} {
		got := dial.Problem("db:1", err)
		require.EqualError(t, got, want)
		require.ErrorIs(t, got, err)
	}
}
