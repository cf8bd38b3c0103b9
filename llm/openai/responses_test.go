package openai_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

func responses(o *openai.Options) { o.API = "responses" }

func TestResponses(t *testing.T) {
	t.Parallel()
	llmtest.Exercise(t, llmtest.Responses, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, responses) })
}

func TestResponsesThatAreNotStreamed(t *testing.T) {
	t.Parallel()
	llmtest.Exercise(t, llmtest.Responses, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, responses, noStream) })
}

// always returns a function that makes the same reply for each request.
func always(reply llm.Reply) func(context.Context, llm.Request) (llm.Reply, error) {
	return func(context.Context, llm.Request) (llm.Reply, error) { return reply, nil }
}
