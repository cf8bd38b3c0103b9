package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// model is the model endpoint of the demo's workers. It is a proxy that passes the requests on to the model that the environment
// variables name or, without these variables, to the stand-in, a script that plays a model. The proxy counts the requests by their
// header Idempotency-Key, so it notices a request that is made again.
type model struct {
	url     string
	name    string // the provider's name of the model
	about   string // a description for people
	standIn bool

	requested, answered counter
}

// startModel starts the endpoint, which runs until the context ends. It uses the stand-in if `offline` is set, or if neither
// OPENAI_API_KEY nor OPENAI_BASE_URL is set. `file` is the file that the sub-agent reads in the stand-in's script.
func startModel(ctx context.Context, offline bool, file string) (*model, error) {
	base := os.Getenv(config.BaseURLEnv)
	m := &model{name: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini")}
	m.standIn = offline || cmp.Or(base, os.Getenv(config.DefaultAPIKeyEnv)) == ""
	if m.standIn {
		var err error
		if base, err = serve(ctx, llmtest.Handler(standIn(file))); err != nil {
			return nil, err
		}
		m.name, m.about = "stand-in", "a stand-in: a script that works offline, not a model"
	}
	target, err := url.Parse(cmp.Or(base, config.DefaultBaseURL))
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("OPENAI_BASE_URL is not a URL: set it to an address such as %s", config.DefaultBaseURL)
	}
	m.about = cmp.Or(m.about, m.name+" at "+target.Redacted())
	m.url, err = serve(ctx, m.proxy(target))
	return m, err
}

// The proxy has no API key of its own, because each request of the worker contains the worker's key.
func (m *model) proxy(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1, // pass on each piece of a stream at once
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			m.requested.add(r.In.Header.Get("Idempotency-Key"))
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // answer looks into the response
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusOK {
				whole := func() { m.answered.add(r.Request.Header.Get("Idempotency-Key")) }
				r.Body = &answer{ReadCloser: r.Body, whole: sync.OnceFunc(whole)}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the endpoint cannot be reached: "+err.Error(), http.StatusBadGateway)
		},
	}
}

func (m *model) count() ModelCount {
	requested, answered := m.requested.count(), m.answered.count()
	return ModelCount{Requests: requested.Calls, Keys: requested.Keys, Answered: answered.Calls, Repeated: answered.Again}
}

// answer is the body of an HTTP response of the model. It calls the function `whole` when the complete body has been read.
// The body of a stream is complete when its end mark has been read, because the client closes the connection after the mark.
type answer struct {
	io.ReadCloser
	tail  []byte // the end of what has been read
	whole func() // the second call does nothing
}

var endMark = []byte("data: [DONE]")

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.tail = append(a.tail, p[:n]...)
	if errors.Is(err, io.EOF) || bytes.Contains(a.tail, endMark) {
		a.whole()
	}
	a.tail = a.tail[max(0, len(a.tail)-len(endMark)):]
	return n, err
}
