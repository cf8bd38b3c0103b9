package tool_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// A Go tool sends a request with the token of the caller. A token that the server refuses is replaced once.
func TestRequestHasTheTokenOfTheCaller(t *testing.T) {
	var got []string
	valid := "token-2"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get(tool.KeyHeader)+" "+string(body))
		if r.Header.Get("Authorization") != "Bearer "+valid {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	tokens := 0
	ctx := tool.WithInfo(t.Context(), tool.Info{Key: "k", CallerToken: func(_ context.Context, audience, refused string) (string, error) {
		require.Equal(t, "orders", audience)
		if tokens > 0 {
			require.Equal(t, fmt.Sprint("token-", tokens), refused)
		}
		tokens++
		return fmt.Sprint("token-", tokens), nil
	}})
	post := func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("pay"))
		require.NoError(t, err)
		response, err := tool.DoAsCaller(nil, request, "orders")
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	require.NoError(t, post(ctx))
	require.Equal(t, []string{"Bearer token-1 k pay", "Bearer token-2 k pay"}, got)

	got, valid, tokens = nil, "none", 0
	require.ErrorAs(t, post(ctx), new(*tool.HTTPError))
	require.Len(t, got, 2, "a refused request is sent again once")

	got = nil
	require.ErrorAs(t, post(t.Context()), new(*tool.TokenError), "a worker without a source of tokens")
	require.Empty(t, got)
}
