package protocol

import (
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// These constants limit the attempts at one model call or one tool call. The activity itself counts its attempts, in
// [Progress], because Temporal's retry policy sets no limit.
const (
	// modelAttempts is the maximum number of attempts at one model call. After the last attempt, the turn is held until a
	// person or a program acts: see [agent.Hold]. If the provider sets no retry delay, 8 attempts take about two minutes.
	modelAttempts = 8
	// emptyAttempts is the maximum number of attempts at a model call whose last reply was empty. It is lower than
	// modelAttempts, because empty replies cost money, too.
	emptyAttempts = 3
	// MaxToolAttempts is the maximum number of attempts at one tool call. After the last attempt, the call gets an error as
	// its result, or a result that says that the outcome is unknown.
	MaxToolAttempts = 5
)

// MaxRetryFor is the longest time for which a worker can try a model call again in an outage: see [llm.Class.Outage]. If a worker has
// no such time, the number of attempts is limited instead: see [MaxModelAttempts].
const MaxRetryFor = 24 * time.Hour

// CheckRetryFor returns what is wrong with the time for which a model call is tried again in an outage; nil if it is valid. Zero means
// that the number of attempts is limited instead. `turn` is the time limit of the agent's turn, which would end the attempts before.
func CheckRetryFor(retryFor, turn time.Duration) error {
	switch {
	case retryFor < 0 || retryFor > MaxRetryFor:
		return fmt.Errorf("is %v; it must be at most %v", retryFor, MaxRetryFor)
	case retryFor > 0 && turn > 0 && turn <= retryFor:
		return fmt.Errorf("is %v, but the time limit of a turn of the agent ends it after %v; raise the limit above it", retryFor, turn)
	}
	return nil
}

// MaxModelAttempts returns how often an activity may attempt one model call. The number depends on the class of the error
// with which the last attempt failed. If the class is not retryable, the number is 1. The activity then does not call the same
// model again, but it may call another model of the agent.
func MaxModelAttempts(class llm.Class) int {
	switch {
	case !class.Retryable():
		return 1
	case class == llm.EmptyReply:
		return emptyAttempts
	}
	return modelAttempts
}
