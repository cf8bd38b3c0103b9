package endpoint

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// Failure returns the error in the response, as an [*llm.Error] or an [*UnreadCall]. It returns nil if the response contains
// no error. Such a response may be a reply.
func (a Response) Failure() error {
	p := a.problem()
	if p == nil {
		return nil
	}
	p.message = clip.Text(p.message, maxMessage)
	message := cmp.Or(strings.TrimSpace(p.message), http.StatusText(a.Status), "no reason given")
	if location := a.Header.Get("Location"); a.Status < http.StatusBadRequest && location != "" {
		message = "the endpoint redirects to " + location
	}
	if a.Status < http.StatusMultipleChoices && p.status != 0 {
		message += fmt.Sprintf(" (status %d in the body)", p.status)
	}
	told := &llm.Error{
		Class:      p.class(a.Status),
		Message:    message,
		Status:     a.Status,
		RetryAfter: retryAfter(a.Header, p.message, p.wait, a.At),
	}
	if told.Class == llm.RateLimited && told.RetryAfter == 0 {
		told.RetryAfter = resetAfter(a.Header, a.At)
	}
	if told.Class == llm.BadReply && p.generation != "" {
		return &UnreadCall{Told: told, Written: p.generation}
	}
	return told
}

// maxMessage is the maximum length of the text in which [Response.Failure] looks for the class and the wait time of an error, in
// bytes.
const maxMessage = 64 << 10

// UnreadCall is the error for a tool call that the endpoint could not parse. The endpoint's error response contains the text
// that the model wrote. The client may be able to read this text.
type UnreadCall struct {
	Told    *llm.Error // the error of the endpoint
	Written string     // the text that the model wrote
}

func (e *UnreadCall) Error() string { return e.Told.Error() }
func (e *UnreadCall) Unwrap() error { return e.Told }

// TooLarge returns the error for a response that is longer than [MaxReply].
func (a Response) TooLarge() error {
	return &llm.Error{Class: llm.TooLarge, Message: ErrTooLarge.Error(), Status: a.Status}
}

// Bad returns the error for a response that has a success status but is not a reply in the form of the given API. `cause` is the error of
// the JSON decoder. The class is [llm.NotFound] for a web page, and [llm.BadReply] for everything else.
func (a Response) Bad(api API, cause error) error {
	e := &llm.Error{Class: llm.BadReply, Status: a.Status, Err: cause}
	switch {
	case strings.TrimSpace(string(a.Body)) == "":
		e.Message = "the body of the response is empty"
	case a.html():
		e.Class = llm.NotFound // the URL is wrong, so a retry does not help
		e.Message = fmt.Sprintf("the endpoint returned HTML (%s), not JSON", title(a.Body))
	default:
		e.Message = fmt.Sprintf("the response is not %s: %s", api.reply(), a.Body)
	}
	return e
}
