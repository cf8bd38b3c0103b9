package llm_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/openai"
)

// A caller stops a request after the connection is there. The endpoint gets no body, in any API.
func TestRequestIsStoppedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	var requests, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			requests.Add(1)
		}
	}))
	server.Listener = &counting{Listener: server.Listener, accepted: &connections}
	server.Start()
	t.Cleanup(server.Close)
	late := errors.New("another worker may have made the call")
	for name, made := range map[string]func() (llm.Client, error){
		"chat": func() (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ChatAPI})
		},
		"responses": func() (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ResponsesAPI})
		},
		"messages": func() (llm.Client, error) { return anthropic.New(anthropic.Options{BaseURL: server.URL}) },
	} {
		client, err := made()
		require.NoError(t, err)
		asked := 0
		ctx := llm.WithGuard(t.Context(), func() error {
			asked++
			return late
		})
		_, err = client.Complete(ctx, llm.Request{
			Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Messages: []llm.Message{{Role: llm.User, Content: "Hello"}},
		})
		require.ErrorIs(t, err, late, name)
		require.Equal(t, 1, asked, name)
	}
	require.Zero(t, requests.Load())
	require.EqualValues(t, 3, connections.Load())
}

// counting counts the connections that a listener accepts.
type counting struct {
	net.Listener
	accepted *atomic.Int32
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}
