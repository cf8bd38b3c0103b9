package activities

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/llm"
)

// nextCandidateDelay is the time between the failure of a model and the request to the next one.
const nextCandidateDelay = 100 * time.Millisecond

// candidate returns the number of the candidate to ask; it counts on over all rounds.
func (h *heartbeat) candidate() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tried.Candidate
}

// fallBack decides which of n candidates is asked after the one whose turn it was has failed. The next is
// asked at once; when all were, after the pause that the last failure asks for. One that refuses for a
// reason that waiting does not cure is not asked again, and when all have, that is the end. A
// context that is too long is compacted, and not tried on another model.
func (h *heartbeat) fallBack(turn, n int, failed error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](failed)
	if !ok || app.Type() == string(llm.ContextTooLong) {
		return failed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !llm.Class(app.Type()).Retryable() {
		h.tried.Refused = append(h.tried.Refused, turn%n)
	} else if app.NonRetryable() {
		return failed // asked often enough
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
