package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// form says how a request asks for the reply: as a stream or not, and with or without the field `stream_options`. A larger
// value is a plainer form, which more endpoints accept.
type form int

const (
	streamed        form = iota // as a stream with usage, which needs stream_options
	streamedNoUsage             // as a stream without stream_options
	plain                       // without streaming
)

var (
	// namesOptions and namesStream match error messages about stream_options and about streaming.
	namesOptions = regexp.MustCompile(`(?i)\b(?:stream_options|streamOptions|include_usage)\b`)
	namesStream  = regexp.MustCompile(`(?i)\bstream(?:ing|ed)?\b`)
)

// after decides whether to send a request again in a plainer form. `err` is the error of the request in the form `f`; nil if
// the request succeeded. If the endpoint refused the form, after returns a plainer form and true. If the error has another
// reason, or if there is no plainer form, after returns false. In this case, the returned form has no meaning.
func (f form) after(err error) (form, bool) {
	var told *llm.Error
	if f == plain || !errors.As(err, &told) {
		return f, false
	}
	switch {
	case told.Class != llm.InvalidRequest && told.Class != llm.NotFound && told.Status != http.StatusNotImplemented:
		return f, false
	case f == streamed && namesOptions.MatchString(told.Message):
		return streamedNoUsage, true
	case namesStream.MatchString(told.Message):
		return plain, true
	}
	return f, false
}

// fields returns the fields for the body of a request in the form `f`. These are the fields in `base` and, depending on the
// form, `stream` and `stream_options`. fields does not modify `base`.
func (f form) fields(base map[string]json.RawMessage) map[string]json.RawMessage {
	if f == plain {
		return base
	}
	all := maps.Clone(base)
	all["stream"] = json.RawMessage("true")
	if f == streamed {
		all["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return all
}

// forms remembers the form that each model accepts. The zero value is ready for use. It is safe for concurrent use.
type forms struct {
	mu    sync.Mutex
	known map[string]form
}

// of returns the form for the next request to a model. This is the form that [forms.keep] has stored for the model, if it is
// plainer than `first`. Otherwise it is `first`.
func (m *forms) of(model string, first form) form {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.known[model], first)
}

// keep stores `f` as the form that a model accepts. Call it after the model has replied to a request in this form.
func (m *forms) keep(model string, f form) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]form{}
	}
	m.known[model] = f
}
