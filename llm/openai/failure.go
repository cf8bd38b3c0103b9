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

// failure returns the error that an answer is; nil when it may be a reply.
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
	if told.Class == llm.BadReply && p.generation != "" {
		return &unreadCall{told: told, written: p.generation}
	}
	return told
}

// unreadCall is a failure of an endpoint to read the call that its model wrote.
type unreadCall struct {
	told    *llm.Error
	written string
}

func (e *unreadCall) Error() string { return e.told.Error() }
func (e *unreadCall) Unwrap() error { return e.told }

// tooLarge returns the error for an answer that is longer than is read.
func (a answer) tooLarge() error {
	return &llm.Error{Class: llm.TooLarge, Message: errTooLarge.Error(), Status: a.status}
}

// bad returns the error for a success that is no completion.
func (a answer) bad(cause error) error {
	e := &llm.Error{Class: llm.BadReply, Status: a.status, Err: cause}
	switch {
	case strings.TrimSpace(string(a.body)) == "":
		e.Message = "the body of the response is empty"
	case a.html():
		e.Class = llm.NotFound // another URL is needed, not another try
		e.Message = fmt.Sprintf("the endpoint returned HTML (%s), not JSON", title(a.body))
	default:
		e.Message = "the response is not a chat completion: " + string(a.body)
	}
	return e
}

// failed turns whatever kept a call from its reply into the error to return.
// The end of the caller's context is the caller's doing, not the endpoint's.
func (c *Client) failed(caller, limited context.Context, model string, err error) error {
	var known *llm.Error
	var lost lostError
	switch {
	case errors.As(err, &known):
		return c.complete(model, known)
	case caller.Err() != nil:
		return fmt.Errorf("ask model %s: %w", c.subject(model), caller.Err())
	case !errors.As(err, &lost):
		// The library or a schema refused the request before it was sent.
		return c.complete(model, &llm.Error{Class: llm.InvalidRequest, Message: err.Error()})
	case limited.Err() != nil:
		// Without the cause: a context's error would look like the caller's own.
		return c.complete(model, &llm.Error{Class: llm.Connection, Message: fmt.Sprintf("no response within %v, the timeout of the model", c.options.Timeout)})
	}
	// The URL that the HTTP client puts before its errors is not for people.
	err = lost.err
	if told := (*url.Error)(nil); errors.As(err, &told) {
		err = told.Err
	}
	return c.complete(model, &llm.Error{Class: llm.Connection, Message: err.Error(), Err: err})
}

// complete completes an error with what it is about and what to do, and takes the
// secrets out. Every error of the client passes through here.
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

// subject names the model and the endpoint.
func (c *Client) subject(model string) string {
	if c.options.Name == "" || c.options.Name == model {
		return fmt.Sprintf("%q at %s", model, c.host)
	}
	return fmt.Sprintf("%q (%s at %s)", c.options.Name, model, c.host)
}

// shorten makes one line of a message, of at most some hundred bytes: errors
// are kept in workflow histories.
func shorten(message string) string {
	return clip.Text(strings.Join(strings.Fields(strings.ToValidUTF8(message, "\uFFFD")), " "), 600)
}
