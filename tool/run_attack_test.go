package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// deaf is a tool that does not hear that its context has ended.
func deaf(t *testing.T, effect tool.Effect, until <-chan struct{}) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "deaf", Effect: effect}, func(context.Context, json.RawMessage) (tool.Result, error) {
		<-until
		return tool.Result{Content: "too late"}, nil
	})
	require.NoError(t, err)
	return tl
}

// Without it such a call would keep its place in the worker.
func TestAttackToolThatIgnoresItsContextIsAbandoned(t *testing.T) {
	for effect, unknown := range map[tool.Effect]bool{tool.ReadOnly: false, tool.Idempotent: true, tool.AtMostOnce: true} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			type returned struct {
				res tool.Result
				err error
			}
			done := make(chan returned, 1)
			go func() {
				res, err := tool.Run(ctx, deaf(t, effect, until), "{}")
				done <- returned{res, err}
			}()
			synctest.Wait()
			require.Empty(t, done, "before the end of its context a tool takes its time")
			cancel()
			got := <-done
			require.ErrorIs(t, got.err, context.Canceled)
			require.Equal(t, unknown, errors.Is(got.err, tool.ErrOutcomeUnknown))
		})
	}
}

// What comes in the seconds after the end counts: it may be a tool that put itself in order.
func TestToolMayReturnAfterTheEndOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.AfterFunc(time.Second, func() { close(until) })
		res, err := tool.Run(ctx, deaf(t, "", until), "{}")
		require.NoError(t, err)
		require.Equal(t, "too late", res.Content)
	})
}
