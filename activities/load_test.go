package activities

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A sub-agent that stops at its own time limit can say so before its parent gives up.
func TestParentWaitsLongerThanItsSubAgentMayTake(t *testing.T) {
	for wall, budget := range map[int64]int64{0: 0, 1000: 31_000, 300_000: 330_000, 3_600_000: 3_960_000} {
		require.Equal(t, budget, childBudgetMS(wall))
	}
}
