package access

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Error is a refusal. It never has a part of a secret.
type Error struct {
	// Status is the HTTP status: 400, 401, 403, 405, 408, 413, 421, 429 or 503.
	Status int
	// Code is a stable name of the reason, such as invalid_api_key.
	Code string
	// Message says what happened and what to do.
	Message string
	// RetryAfter is when the request may succeed. Zero means that it does not by waiting.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// ReadError returns the refusal for an error of reading a request's body: 413 if the body is too large, 408 if it was too slow, and otherwise 400.
func ReadError(err error) *Error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Status: http.StatusRequestTimeout, Code: "request_timeout", Message: "the body did not arrive in time; send the request again"}
	}
	return &Error{Status: http.StatusBadRequest, Code: "incomplete_body", Message: "the body did not arrive as a whole; send the request again"}
}

func tooLarge(limit int64) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large", Message: fmt.Sprintf("the request has more than %d bytes; send less, or ask the operator for a larger max_body", limit)}
}

// Refuse answers a request with a refusal, in the form of [Options.OnError].
func (c *Control) Refuse(w http.ResponseWriter, r *http.Request, e *Error) {
	head := w.Header()
	if e.Status == http.StatusUnauthorized {
		head.Set("WWW-Authenticate", `Bearer realm="reagent"`)
	}
	if e.RetryAfter > 0 {
		head.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	c.onError(w, r, e)
}

func plainError(w http.ResponseWriter, _ *http.Request, e *Error) { http.Error(w, e.Message, e.Status) }
