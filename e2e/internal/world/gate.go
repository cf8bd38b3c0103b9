package world

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Gate holds the first call that comes to it until the caller goes away or the gate is opened.
type Gate struct {
	// Calls counts the calls that have come.
	Calls   atomic.Int32
	arrived chan struct{}
	// Open is closed to open the gate.
	Open chan struct{}
}

// NewGate returns a gate that is closed.
func NewGate() *Gate { return &Gate{arrived: make(chan struct{}), Open: make(chan struct{})} }

// Pass holds the first call. Later calls pass at once.
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

// Wait waits until a call stands at the gate.
func (g *Gate) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(Patience):
		require.FailNow(t, "nothing came to the gate")
	}
}
