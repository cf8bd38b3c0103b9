package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sub-agent that stops at its own time limit can say so before its parent gives up.
func TestParentWaitsLongerThanItsSubAgentMayTake(t *testing.T) {
	for turn, budget := range map[time.Duration]time.Duration{
		time.Second: 31 * time.Second, 5 * time.Minute: 330 * time.Second, time.Hour: 66 * time.Minute,
	} {
		require.Equal(t, budget, childBudget(turn))
	}
}
