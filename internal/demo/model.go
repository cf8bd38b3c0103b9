package demo

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// model is the model endpoint of the demo's worker: a counter in front of the stand-in, or in front of the model that the
// environment names.
type model struct {
	*counter
	*listener
	// name is the provider's name of the model.
	name string
	// standIn says that the stand-in replies and not a model.
	standIn bool
	// where describes the model for people.
	where string
}

// defaultModel is the model if OPENAI_MODEL does not name another.
const defaultModel = "gpt-4o-mini"

// startModel starts the model endpoint. If offline is false and OPENAI_API_KEY or OPENAI_BASE_URL is set, it is a proxy to that
// model. Otherwise it serves the stand-in for the subject.
func startModel(offline bool, about subject) (*model, error) {
	base, key := os.Getenv("OPENAI_BASE_URL"), os.Getenv(config.DefaultAPIKeyEnv)
	m := &model{name: "stand-in", standIn: true, where: "a stand-in: a script that works offline, not a model"}
	var handler http.Handler = &llmtest.Endpoint{Client: standIn(about)}
	if !offline && cmp.Or(base, key) != "" {
		base = strings.TrimSuffix(cmp.Or(base, config.DefaultBaseURL), "/")
		target, err := url.Parse(base)
		if err != nil || target.Host == "" {
			return nil, fmt.Errorf("OPENAI_BASE_URL is not a URL: set it to an address such as %s", config.DefaultBaseURL)
		}
		m.name, m.standIn = cmp.Or(os.Getenv("OPENAI_MODEL"), defaultModel), false
		m.where = fmt.Sprintf("%s at %s", m.name, target.Redacted())
		handler = http.StripPrefix("/v1", proxy(target))
	}
	m.counter = newCounter(handler)
	var err error
	m.listener, err = listen(m.counter)
	return m, err
}

// keyed reports whether the worker has to send an API key.
func (m *model) keyed() bool { return !m.standIn && os.Getenv(config.DefaultAPIKeyEnv) != "" }

// proxy returns a handler that passes requests on to an endpoint. It puts the endpoint's base path before the path of a request.
func proxy(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1, // pass on each piece of a stream at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the endpoint cannot be reached: "+err.Error(), http.StatusBadGateway)
		},
	}
}
