package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// fail converts an error of a request into the error that [llm.Client.Complete] returns. `ctx` is the context of Complete, and `model`
// is the provider's name of the model. The first case that applies counts:
//   - `err` is an [*llm.Error]. The result is the same error with the names of the model and the endpoint.
//   - `ctx` has ended. The result wraps the error of `ctx`. It is not an [*llm.Error], because the endpoint did nothing wrong.
//   - `err` is a [LostError]. The result is an [*llm.Error] of class [llm.Connection].
//   - In any other case, the client has refused the request. The result is an [*llm.Error] of class [llm.InvalidRequest].
func (b *Base) fail(ctx context.Context, model string, err error) error {
	var known *llm.Error
	var lost LostError
	switch {
	case errors.As(err, &known):
		return b.complete(model, known)
	case ctx.Err() != nil:
		return fmt.Errorf("ask model %s: %w", b.subject(model), ctx.Err())
	case !errors.As(err, &lost):
		// The client refused the request before it was sent.
		return b.complete(model, &llm.Error{Class: llm.InvalidRequest, Message: err.Error()})
	case errors.Is(err, ErrTimeout):
		return b.complete(model, &llm.Error{Class: llm.Connection, Message: fmt.Sprintf("no complete response within %v, the timeout of the model", b.Timeout)})
	}
	// The text of a *url.Error begins with the method and the URL, which do not help people.
	err = lost.Err
	if told := (*url.Error)(nil); errors.As(err, &told) {
		err = told.Err
	}
	return b.complete(model, &llm.Error{Class: llm.Connection, Message: err.Error(), Err: err})
}

// complete prepares an error for the caller of the client. It changes `e` and returns it:
//   - It shortens the message, and adds the names of the model and the endpoint.
//   - For some classes, it adds a hint that says what a person can do: see [hints].
//   - It hides secrets in all texts of the error, and removes a cause whose text contains a secret.
func (b *Base) complete(model string, e *llm.Error) error {
	e.Message = b.subject(model) + ": " + Shorten(b.secrets.Text(e.Message))
	if hint := hints[e.Class]; hint != "" {
		e.Message += fmt.Sprintf("; %s of model %q in the configuration", hint, cmp.Or(b.Name, model))
	}
	if e.Err != nil && b.secrets.Text(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	e.Model, e.FinishReason = clip.Text(b.secrets.Text(e.Model), MaxWord), clip.Text(b.secrets.Text(e.FinishReason), MaxWord)
	return e
}

func (b *Base) subject(model string) string {
	if b.Name == "" || b.Name == model {
		return fmt.Sprintf("%q at %s", model, b.Host)
	}
	return fmt.Sprintf("%q (%s at %s)", b.Name, model, b.Host)
}

// MaxWord is the maximum length of the model's name and of the finish reason in an error, in bytes.
const MaxWord = 200

// Refusal returns the message of an error for the log, without secrets and shortened: see [Shorten].
func (b *Base) Refusal(err error) string { return Shorten(b.secrets.Text(err.Error())) }

// Shorten returns a message on one line and with at most 600 bytes. Messages must be short, because errors are stored in
// workflow histories.
func Shorten(message string) string {
	return clip.Text(strings.Join(strings.Fields(strings.ToValidUTF8(message, "\uFFFD")), " "), 600)
}
