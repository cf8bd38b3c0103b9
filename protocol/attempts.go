package protocol

import "github.com/reagent-dev/reagent/llm"

// The limits on the attempts at one effect. An activity counts its attempts in [Progress]; Temporal itself sets no limit.
const (
	// modelAttempts is the maximum number of attempts at one model call before the turn is held. If the provider sets no retry
	// delay, 8 attempts take about two minutes.
	modelAttempts = 8
	// emptyAttempts is the maximum number of attempts if the last reply was empty. It is lower than modelAttempts because empty
	// replies are paid for.
	emptyAttempts = 3
	// MaxToolAttempts is the maximum number of attempts at one tool call. After the last attempt, the result of the call is an
	// error, or says that the outcome is unknown.
	MaxToolAttempts = 5
)

// MaxModelAttempts returns the maximum number of attempts at one model call if the last attempt failed with the given class. It
// returns 1 for a class that is not retryable.
func MaxModelAttempts(class llm.Class) int {
	switch {
	case !class.Retryable():
		return 1
	case class == llm.EmptyReply:
		return emptyAttempts
	}
	return modelAttempts
}
