package protocol

import "github.com/reagent-dev/reagent/llm"

// These constants limit the number of attempts at one model call or one tool call. The activity counts its attempts in
// [Progress]. Temporal itself sets no limit.
const (
	// modelAttempts is the maximum number of attempts at one model call. After the last attempt, the turn is held: see
	// [agent.Held]. If the provider sets no retry delay, 8 attempts take about two minutes.
	modelAttempts = 8
	// emptyAttempts is the maximum number of attempts if the last reply was empty. It is lower than modelAttempts, because an
	// empty reply costs money, too.
	emptyAttempts = 3
	// MaxToolAttempts is the maximum number of attempts at one tool call. After the last attempt, the result of the call is an
	// error, or says that the outcome is unknown.
	MaxToolAttempts = 5
)

// MaxModelAttempts returns the maximum number of attempts at one model call whose last attempt failed with an error of the given
// class. If this class is not retryable, the result is 1. If the request may go to other models, too, the activity still calls
// those.
func MaxModelAttempts(class llm.Class) int {
	switch {
	case !class.Retryable():
		return 1
	case class == llm.EmptyReply:
		return emptyAttempts
	}
	return modelAttempts
}
