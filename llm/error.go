package llm

import (
	"cmp"
	"fmt"
	"time"
)

// Class is the class of an [Error]. It says what the caller can do about the error. The values must not change, because
// Temporal histories store them as the types of application errors.
type Class string

// The classes, in three groups. The comment above each group says what the caller can do: send the request again, compact
// (shorten) the conversation, or fail. The numbers are HTTP statuses.
const (
	// Retry: the same request may succeed later.

	RateLimited Class = "RateLimited" // 429
	Overloaded  Class = "Overloaded"  // 503, 529, or an error of a type such as overloaded_error
	ServerError Class = "ServerError" // every other 5xx, and 408, 409, 425
	Connection  Class = "Connection"  // no response, or an incomplete one
	EmptyReply  Class = "EmptyReply"  // a reply that has no text, no tool call and no part
	BadReply    Class = "BadReply"    // a success status without a valid reply, or a tool call that the endpoint cannot read

	// Compact: the same request never succeeds, but a shorter one may succeed.

	ContextTooLong Class = "ContextTooLong"

	// Fail: a person has to change something first.

	InvalidRequest Class = "InvalidRequest" // 400 and other 4xx that are not in this list
	Unauthorized   Class = "Unauthorized"   // 401, 403
	QuotaExceeded  Class = "QuotaExceeded"  // 402, or a 429 that waiting does not resolve
	NotFound       Class = "NotFound"       // 404, 405 or a redirect: the URL or the model is wrong
	Filtered       Class = "Filtered"       // the provider's content filter, or a refusal of the model
	TooLarge       Class = "TooLarge"       // the request or the response exceeds a size limit
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	switch c {
	case RateLimited, Overloaded, ServerError, Connection, EmptyReply, BadReply:
		return true
	}
	return false
}

// classTexts has a short description of each class for people.
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

// Text returns a short description of the class for people. For an unknown class it returns the class itself.
func (c Class) Text() string { return cmp.Or(classTexts[c], string(c)) }

// ErrEmptyReply is a target for [errors.Is]. It matches every [*Error] of class [EmptyReply].
var ErrEmptyReply = &Error{Class: EmptyReply, Message: "empty reply"}

// Error is the error that a [Client] returns if it got no valid reply from the model. Its text never contains an API key.
type Error struct {
	// Class says what the caller can do about the error.
	Class Class
	// Message describes the error for people.
	Message string

	// Status is the HTTP status; 0 if there was no response.
	Status int
	// RetryAfter is how long the provider asked to wait; 0 if it did not say.
	RetryAfter time.Duration

	// Model, FinishReason and Usage are copied from the response. Each is empty if the response did not have it.
	Model        string
	FinishReason string
	Usage        Usage

	// Err is the cause; nil if there is none.
	Err error
}

// Error returns the class's text, the HTTP status and the message.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %s", e.Class.Text(), e.Status, e.Message)
	}
	return fmt.Sprintf("model: %s: %s", e.Class.Text(), e.Message)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the target of an [errors.Is] call is an [*Error] of the same class.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Class == e.Class
}
