package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/telemetry"
)

func TestNothingIsToldTwice(t *testing.T) {
	type turn struct{ run, span string }
	told := telemetry.New(telemetry.Options{})
	require.True(t, told.Once(turn{"a", "1"}))
	require.True(t, told.Once(turn{"a", "2"}))
	require.True(t, told.Once("a"))
	require.False(t, told.Once(turn{"a", "1"}))
	for i := range 4096 {
		require.True(t, told.Once(i))
	}
	require.False(t, told.Once(4095))
	require.True(t, told.Once(turn{"a", "1"}), "only the newest are remembered")
	require.True(t, (*telemetry.Telemetry)(nil).Once("a"))
}
