package llm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/catalogue"
)

// An error response has the same class and the same wait time for the clients of all APIs: gateways send each other's errors. The
// responses are those of the catalogue of package openai.
func TestErrorsHaveOneClassInEveryAPI(t *testing.T) {
	t.Parallel()
	type verdict struct {
		class llm.Class
		wait  time.Duration
	}
	checked := 0
	for _, c := range catalogue.Read(t, "openai/testdata/quirks/*.json") {
		if c.Status < http.StatusMultipleChoices || c.BodyBase64 != "" || strings.HasPrefix(c.Headers["Retry-After"], "@HTTPDATE") {
			continue
		}
		checked++
		server := httptest.NewServer(c.Response)
		var want verdict
		for _, wire := range []string{"chat", "responses", "anthropic"} {
			_, err := clientOf(t, wire, server.URL, true).Complete(t.Context(), llm.Request{
				Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Tools: []llm.ToolSpec{{Name: "look"}},
				Messages: []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
			})
			var got verdict
			if told, ok := errors.AsType[*llm.Error](err); ok {
				got = verdict{told.Class, told.RetryAfter}
			}
			if wire == "chat" {
				want = got
			}
			require.Equal(t, want, got, "%s, %s: %v", c.Name, wire, err)
		}
		server.Close()
	}
	require.Greater(t, checked, 100)
}
