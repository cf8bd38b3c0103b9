package openai_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/standin/conformance"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

// serve starts a server with the handler and returns a client for it with the name "fast".
func serve(t testing.TB, handler http.Handler, edit ...func(*openai.Options)) llm.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	options := openai.Options{Name: "fast", BaseURL: server.URL + "/v1", APIKey: "sk-very-secret", Log: slog.New(slog.DiscardHandler)}
	for _, e := range edit {
		e(&options)
	}
	client, err := openai.New(options)
	require.NoError(t, err)
	return client
}

// ask returns a request with one message.
func ask() llm.Request {
	return llm.Request{
		Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}},
		Messages:   []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Chat, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server) })
}

func TestClientThatDoesNotStream(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Chat, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, noStream) })
}

func noStream(o *openai.Options) { o.NoStream = true }

func TestNewNamesTheOptionThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options openai.Options
		says    string
	}{
		"no URL":       {openai.Options{BaseURL: "localhost:8080"}, "BaseURL"},
		"other scheme": {openai.Options{BaseURL: "ftp://example.com/v1"}, "BaseURL"},
		"query":        {openai.Options{BaseURL: "https://example.com/v1?key=secret"}, "query"},
		"whole path":   {openai.Options{BaseURL: "https://example.com/v1/chat/completions/"}, "remove it from BaseURL"},
		"other path":   {openai.Options{BaseURL: "https://example.com/v1/responses"}, "remove it from BaseURL"},
		"API":          {openai.Options{API: "soap"}, "soap"},
		"provider":     {openai.Options{Provider: "acme"}, "acme"},
		"timeout":      {openai.Options{Timeout: -1}, "Timeout"},
		"idle timeout": {openai.Options{IdleTimeout: -1}, "IdleTimeout"},
		"key":          {openai.Options{APIKey: "sk-se\ncret"}, "APIKey"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.New(test.options)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "cret\"")
		})
	}

	_, err := openai.New(openai.Options{})
	require.NoError(t, err, "every option has a default")
}
