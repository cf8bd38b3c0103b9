package activities

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// nextCandidateDelay is the time between the failure of a candidate and the request to the next candidate.
const nextCandidateDelay = 100 * time.Millisecond

// candidate returns the number of the candidate to call. The number is not reset when all candidates were called: the remainder
// of its division by the number of candidates is the candidate's index.
func (h *heartbeat) candidate() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tried.Candidate
}

// fallBack chooses the next of n candidates after candidate number turn has failed with the error failed. It returns an error
// that Temporal retries: the next attempt calls the chosen candidate.
//
// The delay before that attempt is nextCandidateDelay. If all candidates of the round were called, the next round begins after
// the retry delay of failed, if that is longer. A candidate whose failure is not retryable (see [llm.Class.Retryable]) is not
// called again.
//
// fallBack returns failed itself if no candidate is left, if failed is not retryable because of too many attempts, or if failed
// is a cancellation. It also returns failed if the worker stops: the candidate has not failed, and the next attempt calls it
// again. It also returns failed if the context is too long: the core compacts the context, and other models are not tried.
func (h *heartbeat) fallBack(turn, n int, failed error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](failed)
	if !ok || app.Type() == string(llm.ContextTooLong) || app.Type() == protocol.Interrupted {
		return failed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !llm.Class(app.Type()).Retryable() {
		h.tried.Refused = append(h.tried.Refused, turn%n)
	} else if app.NonRetryable() {
		return failed // this was the last attempt that modelError allows
	}
	for next := turn + 1; next <= turn+n; next++ {
		if slices.Contains(h.tried.Refused, next%n) {
			continue
		}
		h.tried.Candidate = next
		pause := nextCandidateDelay
		if next/n > turn/n {
			pause = max(pause, app.NextRetryDelay())
		}
		options := temporal.ApplicationErrorOptions{NextRetryDelay: pause}
		if app.HasDetails() {
			options.Details = []any{h.tried.Empty}
		}
		return temporal.NewApplicationErrorWithOptions(app.Message(), app.Type(), options)
	}
	return failed
}
