package world

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Gate holds a call, for example a model call, so that a test can do something meanwhile. It holds only the first call that
// comes, until the test opens the gate or the context of the call ends.
type Gate struct {
	// Calls counts all calls that have come to the gate.
	Calls   atomic.Int32
	arrived chan struct{}
	// Open is a channel. Close it to open the gate.
	Open chan struct{}
}

// NewGate returns a gate that is not open.
func NewGate() *Gate { return &Gate{arrived: make(chan struct{}), Open: make(chan struct{})} }

// Pass must be called by the code that the test wants to hold. The first call of Pass returns when the gate is open. If ctx
// ends before that, Pass returns the error of ctx. Later calls return at once.
func (g *Gate) Pass(ctx context.Context) error {
	if g.Calls.Add(1) > 1 {
		return nil
	}
	close(g.arrived)
	select {
	case <-g.Open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait waits until a call has come to the gate: see [Gate.Pass]. After [Patience], it fails the test.
func (g *Gate) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(Patience):
		require.FailNow(t, "nothing came to the gate")
	}
}
