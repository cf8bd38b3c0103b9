package faults_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/lab"
)

// Under random disturbances of workers, network, server and runs, every agent ends and can be read. No call of an at-most-once
// tool takes effect twice. Each accepted message is in the transcript once, and the messages of one sender are in their order.
// A model request is repeated only if a disturbance explains this.
//
// What people have decided in any run of an agent holds in every run.
//
// REAGENT_CHAOS is the number of seeds to run in a row; without it, the test is skipped. REAGENT_SEED is the first seed.
// REAGENT_CHAOS_AGENTS is the number of agents of a seed, and REAGENT_CHAOS_STORM the time in which disturbances begin.
// REAGENT_CHAOS_WITHOUT names the disturbances to leave out, separated by commas; "deny" and "permit" leave out these decisions of people.
func TestChaos(t *testing.T) {
	text := os.Getenv("REAGENT_CHAOS")
	if text == "" {
		t.Skip("set REAGENT_CHAOS to a number of seeds: make chaos")
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	first := lab.Seed(t)
	for i := range uint64(n) {
		began := time.Now()
		if !t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) {
			v := lab.RunChaos(t, first+i)
			require.Empty(t, v.Problems, strings.Join(v.Problems, "\n"))
		}) {
			t.Fatalf("seed %d failed, after %d that did not: REAGENT_SEED=%d REAGENT_CHAOS=1 repeats its choices", first+i, i, first+i)
		}
		t.Logf("seed %d: %v", first+i, time.Since(began).Round(time.Second))
	}
}
