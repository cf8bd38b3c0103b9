package attempt

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// After a failure, the next candidate is called almost at once. When all candidates were called, the next round starts after the
// retry delay of the last failure. A candidate with an error that is not retryable is not called again. The call fails when no
// candidate is left.
func TestFallbackGoesRound(t *testing.T) {
	failure := func(class llm.Class, pause time.Duration) error {
		return temporal.NewApplicationErrorWithOptions("no", string(class),
			temporal.ApplicationErrorOptions{NonRetryable: !class.Retryable(), NextRetryDelay: pause})
	}
	const minute = time.Minute
	for _, step := range []struct {
		name    string
		refused []int
		turn    int
		class   llm.Class
		next    int
		pause   time.Duration
		final   bool
	}{
		{"the first is overloaded", nil, 0, llm.Overloaded, 1, nextCandidateDelay, false},
		{"so is the second", nil, 1, llm.RateLimited, 2, nextCandidateDelay, false},
		{"all were asked", nil, 2, llm.RateLimited, 3, minute, false},
		{"the first does not exist", nil, 0, llm.NotFound, 1, nextCandidateDelay, false},
		{"the first was left out", []int{0}, 2, llm.Overloaded, 4, minute, false},
		{"all refuse", []int{0, 1}, 2, llm.Unauthorized, 2, 0, true},
		{"a context is too long for all", nil, 0, llm.ContextTooLong, 0, minute, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			a := &Attempt{tried: protocol.Progress{Candidate: step.turn, Refused: step.refused}}
			err := a.FallBack(step.turn, 3, failure(step.class, minute))
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, step.final, app.NonRetryable())
			require.Equal(t, step.next, a.Candidate())
			if !step.final {
				require.Equal(t, step.pause, app.NextRetryDelay())
			}
		})
	}
}

// A candidate that was called when the worker stopped has not failed: the next attempt calls it again.
func TestStoppedWorkerDoesNotRefuseACandidate(t *testing.T) {
	a := &Attempt{}
	stopped := temporal.NewApplicationError("the worker stops", protocol.AttemptEnded)
	require.Equal(t, stopped, a.FallBack(0, 2, stopped))
	require.Zero(t, a.Candidate())
	require.Empty(t, a.tried.Refused)
}

// The error of the last model does not hide why the first one failed.
func TestFallbackKeepsTheFirstError(t *testing.T) {
	a := &Attempt{}
	refused := func(text string) error {
		return temporal.NewNonRetryableApplicationError(text, string(llm.Unauthorized), nil)
	}
	require.ErrorContains(t, a.FallBack(0, 2, refused("the key of main is wrong")), "the key of main is wrong")
	err := a.FallBack(1, 2, refused("the key of spare is wrong"))
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.True(t, app.NonRetryable())
	require.Equal(t, string(llm.Unauthorized), app.Type())
	require.Contains(t, app.Message(), "the key of spare is wrong; before that, the first model failed: the key of main is wrong")
}
