package endpoint

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
		a := Response{Status: status, Header: http.Header{}, Body: []byte(`{"error":{"message":"no luck","type":"server_error"}}`)}
		var told *llm.Error
		require.ErrorAs(t, a.Failure(), &told)
		require.Equal(t, want, told.Class, status)
		require.True(t, told.Class.Retryable(), status)
		require.Contains(t, told.Error(), fmt.Sprintf("(HTTP %d): no luck", status))
		require.Equal(t, want == llm.Overloaded, strings.Contains(told.Error(), "overloaded"), status)
	}
	a := Response{Status: 500, Header: http.Header{}, Body: []byte(`{"error":{"message":"later","type":"overloaded_error"}}`)}
	require.ErrorContains(t, a.Failure(), "the endpoint is overloaded (HTTP 500)")
	a = Response{Status: 200, Header: http.Header{}, Body: []byte(`{"error":{"message":"bad gateway","code":502}}`)}
	require.ErrorContains(t, a.Failure(), "the endpoint failed (HTTP 200): bad gateway (status 502 in the body)")
}
