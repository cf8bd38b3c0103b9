package faults_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/e2e/internal/lab"
)

// Any two events, such as a message and a cancel, can come with one workflow task, in any order. The agent can then be read,
// and its state is that of a replay. After a cancel, no model call, tool call or sub-agent begins. Nothing that the agent has
// accepted is lost, even if the agent ends and is resumed.
func TestPairsInOneTask(t *testing.T) {
	t.Parallel()
	lab.ServePairs(t)
	var cases errgroup.Group
	cases.SetLimit(6)
	for _, p := range lab.Pairs(allFaults) {
		cases.Go(func() error {
			t.Run(p.String(), p.Run)
			return nil
		})
	}
	require.NoError(t, cases.Wait())
}
