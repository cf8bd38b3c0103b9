package faults_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/lab"
)

// Many agents give the right answers, and no at-most-once call takes effect twice, under random disturbances. The test kills
// workers and restarts the server. It terminates, resets and forks agents, and makes them continue in new runs. It interrupts some
// of them: their answers are not those of undisturbed agents, but nothing is lost or done twice. REAGENT_SEED repeats the random
// choices of an earlier test, but not their exact times.
func TestSoak(t *testing.T) {
	size, _ := strconv.Atoi(os.Getenv("REAGENT_SOAK"))
	if size <= 0 {
		t.Skip("set REAGENT_SOAK to a number of agents: make soak")
	}
	s := lab.NewSoak(t, size)
	v, ids := s.Run()
	require.Empty(t, v.Problems, strings.Join(v.Problems, "\n"))
	require.Positive(t, v.Kills)
	s.RequireReplay(t, ids)
}
