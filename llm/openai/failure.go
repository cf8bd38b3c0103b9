package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// failure returns the error in the response, as an [*llm.Error] or an [*unreadCall]. It returns nil if the response contains
// no error. Such a response may be a reply.
func (a answer) failure() error {
	p := a.problem()
	if p == nil {
		return nil
	}
	message := cmp.Or(strings.TrimSpace(p.message), http.StatusText(a.status), "no reason given")
	if location := a.header.Get("Location"); a.status < http.StatusBadRequest && location != "" {
		message = "the endpoint redirects to " + location
	}
	if a.status < http.StatusMultipleChoices && p.status != 0 {
		message += fmt.Sprintf(" (status %d in the body)", p.status)
	}
	told := &llm.Error{
		Class:      p.class(a.status),
		Message:    message,
		Status:     a.status,
		RetryAfter: retryAfter(a.header, p.message, p.wait, a.at),
	}
	if told.Class == llm.RateLimited && told.RetryAfter == 0 {
		told.RetryAfter = resetAfter(a.header, a.at)
	}
	if told.Class == llm.BadReply && p.generation != "" {
		return &unreadCall{told: told, written: p.generation}
	}
	return told
}

// unreadCall is the error for a tool call that the endpoint could not parse. The endpoint's error response contains the text
// that the model wrote. The client may be able to read this text: see [recovered].
type unreadCall struct {
	told    *llm.Error
	written string // the text that the model wrote
}

func (e *unreadCall) Error() string { return e.told.Error() }
func (e *unreadCall) Unwrap() error { return e.told }

// tooLarge returns the error for a response that is longer than [maxReply].
func (a answer) tooLarge() error {
	return &llm.Error{Class: llm.TooLarge, Message: errTooLarge.Error(), Status: a.status}
}

// bad returns the error for a response that has a success status but is not a completion. `cause` is the error of the JSON
// decoder.
func (a answer) bad(cause error) error {
	e := &llm.Error{Class: llm.BadReply, Status: a.status, Err: cause}
	switch {
	case strings.TrimSpace(string(a.body)) == "":
		e.Message = "the body of the response is empty"
	case a.html():
		e.Class = llm.NotFound // the URL is wrong, so a retry does not help
		e.Message = fmt.Sprintf("the endpoint returned HTML (%s), not JSON", title(a.body))
	default:
		e.Message = "the response is not a chat completion: " + string(a.body)
	}
	return e
}

// failed converts an error of a request into the error that [Client.Complete] returns. `caller` is the context of Complete.
// `limited` is the same context with the timeout of the client. There are three cases:
//   - If `err` is an [*llm.Error], the result is an [*llm.Error], too.
//   - Otherwise, if the context of Complete has ended, the result wraps the error of this context. The result is not an
//     [*llm.Error], because the endpoint did nothing wrong.
//   - Any other error becomes an [*llm.Error] of class [llm.InvalidRequest] or [llm.Connection].
func (c *Client) failed(caller, limited context.Context, model string, err error) error {
	var known *llm.Error
	var lost lostError
	switch {
	case errors.As(err, &known):
		return c.complete(model, known)
	case caller.Err() != nil:
		return fmt.Errorf("ask model %s: %w", c.subject(model), caller.Err())
	case !errors.As(err, &lost):
		// go-openai or this package refused the request before it was sent.
		return c.complete(model, &llm.Error{Class: llm.InvalidRequest, Message: err.Error()})
	case limited.Err() != nil:
		// The error has no cause, because the error of limited would look like the error of the caller's context.
		return c.complete(model, &llm.Error{Class: llm.Connection, Message: fmt.Sprintf("no complete response within %v, the timeout of the model", c.options.Timeout)})
	}
	// The text of a *url.Error begins with the method and the URL, which do not help people.
	err = lost.err
	if told := (*url.Error)(nil); errors.As(err, &told) {
		err = told.Err
	}
	return c.complete(model, &llm.Error{Class: llm.Connection, Message: err.Error(), Err: err})
}

// complete prepares an error for the caller of the client, and returns the error. It shortens the message, and adds the names
// of the model and the endpoint. For some classes, it also adds a hint that says what a person can do. It hides secrets in all
// texts of the error.
func (c *Client) complete(model string, e *llm.Error) error {
	e.Message = c.subject(model) + ": " + shorten(c.errors.Text(e.Message))
	if hint := hints[e.Class]; hint != "" {
		e.Message += fmt.Sprintf("; %s of model %q in the configuration", hint, cmp.Or(c.options.Name, model))
	}
	if e.Err != nil && c.errors.Text(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	e.Model, e.FinishReason = clip.Text(c.errors.Text(e.Model), maxWord), clip.Text(c.errors.Text(e.FinishReason), maxWord)
	return e
}

// subject returns the names of the model and the endpoint as a text for error messages.
func (c *Client) subject(model string) string {
	if c.options.Name == "" || c.options.Name == model {
		return fmt.Sprintf("%q at %s", model, c.host)
	}
	return fmt.Sprintf("%q (%s at %s)", c.options.Name, model, c.host)
}

// shorten returns a message on one line and with at most 600 bytes. Messages must be short, because errors are stored in
// workflow histories.
func shorten(message string) string {
	return clip.Text(strings.Join(strings.Fields(strings.ToValidUTF8(message, "\uFFFD")), " "), 600)
}
