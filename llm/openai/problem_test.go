package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// An error says "overloaded" only if the status or the type of the error says so. The text of every error has the status.
func TestOnlyOverloadIsCalledOverload(t *testing.T) {
	for status, want := range map[int]llm.Class{
		429: llm.RateLimited, 503: llm.Overloaded, 529: llm.Overloaded,
		500: llm.ServerError, 502: llm.ServerError, 504: llm.ServerError, 520: llm.ServerError, 408: llm.ServerError, 409: llm.ServerError,
	} {
		a := answer{status: status, header: http.Header{}, body: []byte(`{"error":{"message":"no luck","type":"server_error"}}`)}
		var told *llm.Error
		require.ErrorAs(t, a.failure(), &told)
		require.Equal(t, want, told.Class, status)
		require.True(t, told.Class.Retryable(), status)
		require.Contains(t, told.Error(), fmt.Sprintf("(HTTP %d): no luck", status))
		require.Equal(t, want == llm.Overloaded, strings.Contains(told.Error(), "overloaded"), status)
	}
	a := answer{status: 500, header: http.Header{}, body: []byte(`{"error":{"message":"later","type":"overloaded_error"}}`)}
	require.ErrorContains(t, a.failure(), "the endpoint is overloaded (HTTP 500)")
	a = answer{status: 200, header: http.Header{}, body: []byte(`{"error":{"message":"bad gateway","code":502}}`)}
	require.ErrorContains(t, a.failure(), "the endpoint failed (HTTP 200): bad gateway (status 502 in the body)")
}
