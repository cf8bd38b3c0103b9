package llm

import (
	"cmp"
	"fmt"
	"time"
)

// Class is the class of an [Error]. It says what the caller can do about the error. The text of a class must not change,
// because Temporal histories contain this text as the type of an application error.
type Class string

// The classes, in three groups. The comment above each group says what the caller can do: send the request again, compact
// (shorten) the conversation, or fail. The numbers are HTTP statuses.
const (
	// Retry: the same request may succeed later.

	RateLimited Class = "RateLimited" // 429
	Overloaded  Class = "Overloaded"  // 498, 503, 529, or an error of a type such as overloaded_error
	ServerError Class = "ServerError" // every other 5xx, and 408, 409, 424, 425, 499
	Connection  Class = "Connection"  // no response, or an incomplete one
	EmptyReply  Class = "EmptyReply"  // a reply that has no text, no tool call and no part
	BadReply    Class = "BadReply"    // a success status without a valid reply, or a tool call that the endpoint cannot read
	// NoCredential means that the source of the API key failed: see [CredentialSource].
	NoCredential Class = "NoCredential" //nolint:gosec // a class, not a credential

	// Compact: the same request never succeeds, but a shorter one may succeed.

	ContextTooLong Class = "ContextTooLong" // 413, or a message that says so

	// Fail: a person has to change something first.

	InvalidRequest Class = "InvalidRequest" // 400 and other 4xx that are not in this list
	Unauthorized   Class = "Unauthorized"   // 401, 403
	QuotaExceeded  Class = "QuotaExceeded"  // 402, or a 429 that waiting does not resolve
	NotFound       Class = "NotFound"       // 404, 405 or a redirect: the URL or the model is wrong
	Filtered       Class = "Filtered"       // the provider's content filter, or a refusal of the model
	TooLarge       Class = "TooLarge"       // the response is larger than the client accepts
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	switch c {
	case RateLimited, Overloaded, ServerError, Connection, EmptyReply, BadReply, NoCredential:
		return true
	}
	return false
}

// Outage reports whether the endpoint, or the source of its key, is not there for a while, so that it may help to try again for hours. An
// endpoint that sends empty or invalid replies is there, and its replies may cost money.
func (c Class) Outage() bool {
	switch c {
	case RateLimited, Overloaded, ServerError, Connection, NoCredential:
		return true
	}
	return false
}

var classTexts = map[Class]string{ //nolint:gosec // there are no credentials
	RateLimited:    "rate limit reached",
	Overloaded:     "the endpoint is overloaded",
	ServerError:    "the endpoint failed",
	Connection:     "no complete response from the endpoint",
	EmptyReply:     "the reply was empty",
	BadReply:       "the response is not a valid reply",
	NoCredential:   "there is no API key for the endpoint",
	ContextTooLong: "the conversation is too long for the model",
	InvalidRequest: "the request was refused",
	Unauthorized:   "the API key was refused",
	QuotaExceeded:  "the quota or the balance of the account is used up",
	NotFound:       "the URL or the model does not exist",
	Filtered:       "a content filter stopped the request or the reply",
	TooLarge:       "the request or the reply is too large",
}

// Text returns a short description of the class for people. If the class is unknown, Text returns the name of the class.
func (c Class) Text() string { return cmp.Or(classTexts[c], string(c)) }

// ErrEmptyReply is a target for [errors.Is]. Every [*Error] of class [EmptyReply] matches it.
var ErrEmptyReply = &Error{Class: EmptyReply, Message: "empty reply"}

// Error is the error that a [Client] returns if it got no valid reply from the model. Its text never contains an API key.
type Error struct {
	// Class says what the caller can do about the error.
	Class Class
	// Message describes the error for people.
	Message string

	// Status is the HTTP status; 0 if there was no response.
	Status int
	// RetryAfter is how long the provider asked to wait; 0 if the provider did not ask.
	RetryAfter time.Duration

	// Model is the model's name in the response; empty if the response has none.
	Model string
	// FinishReason is the finish reason in the response; empty if the response has none.
	FinishReason string
	// Usage has the numbers of tokens in the response; all are 0 if the response has none.
	Usage Usage

	// Err is the cause; nil if there is none.
	Err error
}

// Error returns the class's text, the HTTP status if there is one, and the message.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %s", e.Class.Text(), e.Status, e.Message)
	}
	return fmt.Sprintf("model: %s: %s", e.Class.Text(), e.Message)
}

// Unwrap returns the cause of the error; nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// Is lets [errors.Is] compare errors by their class. It reports whether `target` is an [*Error] of the same class.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Class == e.Class
}
