//go:build !faults

package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/testkit/fault"
)

func TestAProgramWithoutTheTagHasNoFaults(t *testing.T) {
	t.Setenv(fault.Env, t.TempDir())
	require.Nil(t, fault.DialOptions(nil))
	require.Nil(t, fault.Interceptors())
}
