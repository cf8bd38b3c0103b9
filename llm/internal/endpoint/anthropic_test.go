package endpoint

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// Anthropic's errors have the same class in a response and in a stream, where they have no status.
func TestClassesOfAnthropicsErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status        int
		kind, message string
		want          llm.Class
	}{
		{400, "invalid_request_error", "max_tokens: Field required", llm.InvalidRequest},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", llm.ContextTooLong},
		{400, "invalid_request_error", "Output blocked by content filtering policy", llm.Filtered},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", llm.QuotaExceeded},
		{400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.", llm.QuotaExceeded},
		{401, "authentication_error", "invalid x-api-key", llm.Unauthorized},
		{402, "billing_error", "There is an issue with your billing.", llm.QuotaExceeded},
		{403, "permission_error", "Your API key does not have permission.", llm.Unauthorized},
		{404, "not_found_error", "model: claude-unknown", llm.NotFound},
		{413, "request_too_large", "Request exceeds the maximum size", llm.ContextTooLong},
		{429, "rate_limit_error", "This request would exceed your account's rate limit.", llm.RateLimited},
		{500, "api_error", "Internal server error", llm.ServerError},
		{504, "timeout_error", "Request timed out", llm.ServerError},
		{529, "overloaded_error", "Overloaded", llm.Overloaded},
	} {
		body := `{"type":"error","error":{"details":null,"type":"` + test.kind + `","message":"` + test.message + `"},"request_id":"req_1"}`
		require.Equal(t, test.want, classOf(t, test.status, body), test.message)
		require.Equal(t, test.want, classOf(t, http.StatusOK, body), test.message)
	}
}

// A rate limit without a Retry-After header ends when the used up limit is reset.
func TestAnthropicsRateLimitHeadersSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	header := http.Header{}
	header.Set("Anthropic-Ratelimit-Requests-Remaining", "7")
	header.Set("Anthropic-Ratelimit-Requests-Reset", "2026-11-22T12:05:00Z")
	header.Set("Anthropic-Ratelimit-Output-Tokens-Remaining", "0")
	header.Set("Anthropic-Ratelimit-Output-Tokens-Reset", "2026-11-22T12:00:42Z")
	a := Response{Status: http.StatusTooManyRequests, Header: header, At: now, Body: []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`)}
	var told *llm.Error
	require.ErrorAs(t, a.Failure(), &told)
	require.Equal(t, 42*time.Second, told.RetryAfter)

	header.Set("Retry-After", "9")
	require.ErrorAs(t, a.Failure(), &told)
	require.Equal(t, 9*time.Second, told.RetryAfter)
}
