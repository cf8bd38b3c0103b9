package anthropic_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/standin/conformance"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
)

// serve starts a server with the handler and returns a client for it with the name "fast".
func serve(t testing.TB, handler http.Handler, edit ...func(*anthropic.Options)) llm.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	options := anthropic.Options{
		Name: "fast", BaseURL: "http://api.anthropic.com/v1", APIKey: "sk-very-secret", Log: slog.New(slog.DiscardHandler),
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, e := range edit {
		e(&options)
	}
	client, err := anthropic.New(options)
	require.NoError(t, err)
	return client
}

// familyOfA is the family of the replies to requests whose first message is "a".
var familyOfA = anthropic.FamilyOf("api.anthropic.com", "test-model", ask(llm.Message{Role: llm.User, Content: "a"}))

// ask returns a request with the given messages. If no messages are given, the request has one user message.
func ask(messages ...llm.Message) llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.User, Content: "How is the weather?"}}
	}
	return llm.Request{Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}}, Messages: messages}
}

func TestClient(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Messages, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server) })
}

func TestClientThatDoesNotStream(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Messages, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, noStream) })
}

func noStream(o *anthropic.Options) { o.NoStream = true }

func TestNewNamesTheOptionThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options anthropic.Options
		says    string
	}{
		"no URL":       {anthropic.Options{BaseURL: "localhost:8080"}, "BaseURL"},
		"other scheme": {anthropic.Options{BaseURL: "ftp://example.com"}, "BaseURL"},
		"query":        {anthropic.Options{BaseURL: "https://example.com/v1?key=secret"}, "query"},
		"whole path":   {anthropic.Options{BaseURL: "https://example.com/v1/messages/"}, "remove it from BaseURL"},
		"timeout":      {anthropic.Options{Timeout: -1}, "Timeout"},
		"idle timeout": {anthropic.Options{IdleTimeout: -1}, "IdleTimeout"},
		"key":          {anthropic.Options{APIKey: "sk-se\ncret"}, "APIKey"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := anthropic.New(test.options)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "cret\"")
		})
	}

	_, err := anthropic.New(anthropic.Options{})
	require.NoError(t, err, "every option has a default")
}
