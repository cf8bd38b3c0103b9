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

// form is the form of a request to a model.
type form int

const (
	streamed        form = iota // with stream_options, for the usage
	streamedNoUsage             // without, where the endpoint refuses them
	plain                       // for the whole reply at once
)

var (
	namesOptions = regexp.MustCompile(`(?i)\b(?:stream_options|streamOptions|include_usage)\b`)
	namesStream  = regexp.MustCompile(`(?i)\bstream(?:ing|ed)?\b`)
)

// after returns the form to ask in when err is the answer to form f, and whether
// there is one: when the endpoint refused the form and not the request.
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

// fields returns the fields of a request with those that the form adds.
func (f form) fields(all map[string]json.RawMessage) map[string]json.RawMessage {
	if f == plain {
		return all
	}
	all = maps.Clone(all)
	all["stream"] = json.RawMessage("true")
	if f == streamed {
		all["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return all
}

// forms remembers how each model wants to be asked. It is safe for concurrent use.
type forms struct {
	mu    sync.Mutex
	known map[string]form
}

// of returns the form for a model that is not known to want a plainer one.
func (m *forms) of(model string, first form) form {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.known[model], first)
}

// keep remembers a form in which a model answered.
func (m *forms) keep(model string, f form) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]form{}
	}
	m.known[model] = f
}
