package openai_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/standin/conformance"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

func responses(o *openai.Options) { o.API = "responses" }

func TestResponses(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Responses, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, responses) })
}

func TestResponsesThatAreNotStreamed(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Responses, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, responses, noStream) })
}

// always returns a function that makes the same reply for each request.
func always(reply llm.Reply) func(context.Context, llm.Request) (llm.Reply, error) {
	return func(context.Context, llm.Request) (llm.Reply, error) { return reply, nil }
}

// direct is an [http.RoundTripper] that calls a handler without a connection.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	recorded := httptest.NewRecorder()
	d.handler.ServeHTTP(recorded, r)
	return recorded.Result(), nil
}

// handled returns an HTTP client whose requests a handler gets.
func handled(h http.Handler) *http.Client { return &http.Client{Transport: direct{h}} }
