package llm

import (
	"cmp"
	"fmt"
	"time"
)

// Class says what an error means to the one who asked. The strings are protocol:
// they are error types in Temporal histories.
type Class string

// The classes, by what to do about them.
const (
	// Retry: the same request may succeed later.

	RateLimited Class = "RateLimited" // 429
	Overloaded  Class = "Overloaded"  // 503, 529, or an error of that name
	ServerError Class = "ServerError" // every other 5xx, and 408, 409, 425
	Connection  Class = "Connection"  // no response, or one cut short
	EmptyReply  Class = "EmptyReply"  // no text, no call
	BadReply    Class = "BadReply"    // a success that cannot be understood

	// Compact: the same request never succeeds, a shorter one may.

	ContextTooLong Class = "ContextTooLong"

	// Fail: a person has to act first.

	InvalidRequest Class = "InvalidRequest" // 400 and its like
	Unauthorized   Class = "Unauthorized"   // 401, 403
	QuotaExceeded  Class = "QuotaExceeded"  // 402, and 429 that waiting does not cure
	NotFound       Class = "NotFound"       // 404: wrong URL or model
	Filtered       Class = "Filtered"       // the provider's content filter, or a refusal
	TooLarge       Class = "TooLarge"       // the request or reply exceeds a size limit
)

// Retryable reports whether asking the same again may succeed.
func (c Class) Retryable() bool {
	switch c {
	case RateLimited, Overloaded, ServerError, Connection, EmptyReply, BadReply:
		return true
	}
	return false
}

// classTexts say what happened, for people.
var classTexts = map[Class]string{
	RateLimited:    "rate limit reached",
	Overloaded:     "the endpoint is overloaded",
	ServerError:    "the endpoint failed",
	Connection:     "no complete response from the endpoint",
	EmptyReply:     "the reply was empty",
	BadReply:       "the response is not a valid reply",
	ContextTooLong: "the conversation is too long for the model",
	InvalidRequest: "the request was refused",
	Unauthorized:   "the API key was refused",
	QuotaExceeded:  "the quota or the balance of the account is used up",
	NotFound:       "the URL or the model does not exist",
	Filtered:       "a content filter stopped the request or the reply",
	TooLarge:       "the request or the reply is too large",
}

// Text returns what happened in a few words, and the class's own name for an unknown class.
func (c Class) Text() string { return cmp.Or(classTexts[c], string(c)) }

// ErrEmptyReply is the sentinel that every [*Error] of class [EmptyReply]
// matches with errors.Is.
var ErrEmptyReply = &Error{Class: EmptyReply, Message: "empty reply"}

// Error is an answer of a model that is not a reply, or the lack of an answer.
// Its text never holds an API key.
type Error struct {
	Class   Class
	Message string

	// Status is the HTTP status; 0 when there was no response.
	Status int
	// RetryAfter is the time that the provider asked to wait; 0 if it did not say.
	RetryAfter time.Duration

	// Model, FinishReason and Usage are set where a reply told them.
	Model        string
	FinishReason string
	Usage        Usage

	// Err is the cause, where there is one.
	Err error
}

// Error describes the error in one line: what happened, the HTTP status and the message.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %s", e.Class.Text(), e.Status, e.Message)
	}
	return fmt.Sprintf("model: %s: %s", e.Class.Text(), e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an [*Error] of the same class.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Class == e.Class
}
