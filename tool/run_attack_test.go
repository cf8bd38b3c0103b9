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

// deaf returns a tool that ignores the end of its context and returns when the given channel (until) is closed.
func deaf(t *testing.T, effect tool.Effect, until <-chan struct{}) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "deaf", Effect: effect}, func(context.Context, json.RawMessage) (tool.Result, error) {
		<-until
		return tool.Result{Content: "too late"}, nil
	})
	require.NoError(t, err)
	return tl
}

// If Run waited for such a tool, the call would occupy a slot of the worker forever.
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

// Run returns a result that comes a few seconds after the end of the context, because a tool may need this time to clean up.
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
