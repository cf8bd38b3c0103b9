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

// candidate returns the number of the candidate to call. The number increases over all rounds through the candidates. The index
// of the candidate is the remainder of the number divided by the number of candidates.
func (h *heartbeat) candidate() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tried.Candidate
}

// fallBack chooses the next candidate after a failure. The parameter turn is the number of the candidate that has failed, n is
// the number of candidates, and failed is the candidate's error. fallBack returns an error that Temporal retries; the next
// attempt calls the chosen candidate.
//
// The delay before that attempt is nextCandidateDelay. If all candidates of the round were called, the next round begins after
// the retry delay of the error failed, if that is longer. A candidate with an error that is not retryable (see
// [llm.Class.Retryable]) is not called again.
//
// In these cases fallBack chooses no candidate and returns the error failed itself:
//
//   - No candidate is left.
//   - The call has had its maximum number of attempts.
//   - The workflow has cancelled the call.
//   - The worker is stopping. The candidate has not failed, and the next attempt calls it again.
//   - The context is too long. The core then makes a summary, and other models are not tried.
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
