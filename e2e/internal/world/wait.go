package world

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a test waits for a condition before it fails. Temporal may give a task to the poll of a process that no
// longer answers. Such a poll ends after a minute, and the task may then wait for a timeout of 30 seconds. The environment variable
// REAGENT_E2E_PATIENCE sets another time: tests that must fail need not wait so long.
var Patience = patience()

func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("REAGENT_E2E_PATIENCE")); err == nil {
		return d
	}
	return 2 * time.Minute
}

// Eventually waits until the function ok returns true. After [Patience], it fails the test with the name of the condition,
// which is the parameter what.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !ok() {
		if time.Now().After(deadline) {
			require.FailNow(t, "not within "+Patience.String(), what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// Eventually waits until the function ok returns true, for the test of w: see the function [Eventually].
func (w *World) Eventually(what string, ok func() bool) { Eventually(w.T, what, ok) }
