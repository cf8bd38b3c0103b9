package mcp_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// A token that the server no longer takes is replaced, and a call runs once.
func TestTokenOfAServerMayChange(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var valid atomic.Pointer[string]
	set := func(token string) { valid.Store(&token) }
	set("token-one-12345678")
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*valid.Load() {
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	var current atomic.Pointer[string]
	first := "token-one-12345678"
	current.Store(&first)
	source := s.connect(func(server *mcp.Server) {
		server.Headers = nil
		server.Credential = func(_ context.Context, refused *map[string]string) (map[string]string, error) {
			if refused != nil {
				next := "token-two-12345678"
				current.Store(&next)
			}
			return map[string]string{"Authorization": "Bearer " + *current.Load()}, nil
		}
	})
	tools, err := source.Tools(t.Context())
	require.NoError(t, err)
	var create tool.Tool
	for _, candidate := range tools {
		if candidate.Spec().Name == "create" {
			create = candidate
		}
	}

	set("token-two-12345678")
	got := <-start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), create, "")
	require.NoError(t, got.err)
	require.Equal(t, []string{"create k"}, s.done(), "the refused request did nothing")

	set("token-three")
	got = <-start(tool.WithInfo(t.Context(), tool.Info{Key: "l"}), create, "")
	require.ErrorContains(t, got.err, "did not run: HTTP 401")
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.NotContains(t, got.err.Error(), "token-two", "a token that came later is hidden")
}
