package attempt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// nextCandidateDelay is the time between the failure of one model and the request to the next model, if several models can
// answer the request.
const nextCandidateDelay = 100 * time.Millisecond

// Candidate returns the number of the candidate to call. The candidates are the models that can answer the request, counted
// from 0. After the last candidate, the first one follows again, but the number keeps growing: if there are 3 candidates,
// number 4 is the second candidate in the second round.
func (a *Attempt) Candidate() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tried.Candidate
}

// FallBack chooses the candidate that the next attempt calls, after a candidate has failed: see [Attempt.Candidate]. `turn` is
// the number of the failed candidate, `n` is how many candidates there are, and `failed` is the error of the failed candidate.
// The result is a retryable error, so that Temporal starts the next attempt.
//
// The delay before the next attempt is [nextCandidateDelay]. If the next attempt begins a new round through the candidates,
// the delay is at least the retry delay of the given error. A candidate whose error is not retryable is not called again: see
// [llm.Class.Retryable].
//
// In these cases FallBack chooses no candidate, and returns the given error with the error of the first candidate:
//
//   - No candidate is left.
//   - The error is retryable, but the call has had its maximum number of attempts.
//
// In these cases FallBack chooses no candidate, and returns the given error unchanged:
//
//   - The workflow has cancelled the call.
//   - The attempt has ended, for example because the worker is stopping. The candidate has not failed, and the next attempt calls it again.
//   - The context is too long. The agent then makes a summary of the conversation, and other models are not tried.
func (a *Attempt) FallBack(turn, n int, failed error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](failed)
	if !ok || app.Type() == string(llm.ContextTooLong) || app.Type() == protocol.AttemptEnded {
		return failed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if turn%n == 0 {
		a.tried.FirstError = clip.UTF8(app.Message(), maxFirstError)
	}
	if !llm.Class(app.Type()).Retryable() {
		a.tried.Refused = append(a.tried.Refused, turn%n)
	} else if app.NonRetryable() {
		return a.withFirstError(turn%n, app) // this was the last attempt that modelError allows
	}
	for next := turn + 1; next <= turn+n; next++ {
		if slices.Contains(a.tried.Refused, next%n) {
			continue
		}
		a.tried.Candidate = next
		pause := nextCandidateDelay
		if next/n > turn/n {
			pause = max(pause, app.NextRetryDelay())
		}
		return a.again(app, app.Message(), temporal.ApplicationErrorOptions{NextRetryDelay: pause})
	}
	return a.withFirstError(turn%n, app)
}

// maxFirstError limits the text of the first candidate's error, in bytes, because each heartbeat contains it.
const maxFirstError = 500

// withFirstError returns the final error of a model call. If the error is not that of the first candidate, withFirstError adds the
// message of the first candidate's error. The caller must hold the lock.
func (a *Attempt) withFirstError(candidate int, app *temporal.ApplicationError) error {
	if candidate == 0 || a.tried.FirstError == "" {
		return app
	}
	return a.again(app, fmt.Sprintf("%s; before that, the first model failed: %s", app.Message(), a.tried.FirstError),
		temporal.ApplicationErrorOptions{NonRetryable: app.NonRetryable(), NextRetryDelay: app.NextRetryDelay()})
}

// again returns the error of a model call with another text and other options. Its details stay. The caller must hold the lock.
func (a *Attempt) again(app *temporal.ApplicationError, text string, options temporal.ApplicationErrorOptions) error {
	if app.HasDetails() {
		options.Details = []any{a.tried.Empty}
	}
	return temporal.NewApplicationErrorWithOptions(text, app.Type(), options)
}
