package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// problem is an error that the page tells the caller.
type problem struct {
	status int
	// text says what happened, and hint what to do.
	text, hint string
}

func (p *problem) Error() string { return p.text }

var errNotFound = &problem{http.StatusNotFound, "There is no such conversation.", "It may belong to somebody else, or Temporal has deleted it at the end of its retention period."}

func badForm(text string) error {
	return &problem{http.StatusBadRequest, text, "Go back, reload the page, and try again."}
}

// problemOf returns what the page tells about an error. The second result is false if that leaves out the details.
func problemOf(err error) (*problem, bool) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p, true
	}
	said := printable.Text(err.Error())
	again := "Go back and send the form again: it has effect only once."
	switch {
	case errors.Is(err, client.ErrNotFound):
		return errNotFound, true
	case errors.Is(err, client.ErrInvalid), errors.Is(err, agent.ErrMessage):
		return &problem{http.StatusBadRequest, said, "Go back and correct the form."}, true
	case errors.Is(err, client.ErrClosed):
		return &problem{http.StatusConflict, said, "Fork the conversation to go on."}, true
	case errors.Is(err, client.ErrRefused), errors.As(err, new(*client.NoCallError)), errors.As(err, new(*agent.ForkPointError)):
		return &problem{http.StatusConflict, said, "Reload the page to see what has changed."}, true
	case errors.Is(err, client.ErrNoWorker):
		return &problem{http.StatusServiceUnavailable, "No worker answers.", again}, true
	case errors.Is(err, client.ErrNoServer):
		return &problem{http.StatusServiceUnavailable, "Temporal does not answer.", again}, true
	case errors.As(err, new(*http.MaxBytesError)):
		return &problem{http.StatusRequestEntityTooLarge, "The form is too large.", "Shorten the text."}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{http.StatusGatewayTimeout, "There was no answer in time.", again}, true
	}
	return &problem{http.StatusInternalServerError, "Something has failed.", "The log of the gateway says what. " + again}, false
}

// refuse answers a request with an error: as JSON for the script, and otherwise as a page.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody listens
	}
	p, told := problemOf(err)
	if !told {
		h.Log.ErrorContext(r.Context(), "A request of the page has failed.", "path", r.URL.Path, "problem", err.Error())
	}
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(p.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": p.text})
		return
	}
	h.render(w, r, p.status, "problem", p.text, map[string]string{"Text": p.text, "Hint": p.hint})
}

// wantsJSON reports whether the script has sent the request.
func wantsJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}
