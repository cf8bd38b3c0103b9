package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a test waits for a condition that has to come true.
const Patience = 60 * time.Second

// Eventually waits until a condition is true. It fails the test after Patience; what names the condition.
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

// Eventually waits until a condition is true.
func (w *World) Eventually(what string, ok func() bool) { Eventually(w.T, what, ok) }
