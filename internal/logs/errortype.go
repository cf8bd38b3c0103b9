package logs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/llm"
)

// redacted is an error with another text.
type redacted struct {
	error
	text string
}

// Redacted returns an error whose text is without secrets, for the entries of the level Debug.
func Redacted(err error, redact func(string) string) error { return redacted{err, redact(err.Error())} }

func (r redacted) Error() string { return r.text }

func (r redacted) Unwrap() error { return r.error }

// panicked is an error for a panic of an activity, or of a workflow, whose type the SDK does not export.
type panicked interface {
	error
	StackTrace() string
}

// keepsText reports whether the text of an error comes from code alone: the worker's own code has panicked or does not fit a history, or a key
// is missing.
func keepsText(err error) bool {
	return errors.As(err, new(panicked)) || errors.As(err, new(*encryption.UnknownKeyError))
}

// ErrorTypeOf returns the class of an error: the type of Temporal's application error, the [llm.Class], "Timeout", "Canceled", or the name of
// the Go type.
func ErrorTypeOf(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok && application.Type() != "" {
		return application.Type()
	}
	if model, ok := errors.AsType[*llm.Error](err); ok && model.Class != "" {
		return string(model.Class)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) || temporal.IsTimeoutError(err):
		return "Timeout"
	case errors.Is(err, context.Canceled) || temporal.IsCanceledError(err):
		return "Canceled"
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "*")
		if _, ours := e.(redacted); !ours && !strings.HasPrefix(name, "fmt.") && !strings.HasPrefix(name, "errors.") { //nolint:errorlint // each is looked at
			return name
		}
	}
	return "error"
}
