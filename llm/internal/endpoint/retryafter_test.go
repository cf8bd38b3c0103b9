package endpoint

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		seconds, milliseconds, message string
		want                           time.Duration
	}{
		"nothing":            {want: 0},
		"seconds":            {seconds: "7", want: 7 * time.Second},
		"part of a second":   {seconds: "0.5", want: 500 * time.Millisecond},
		"milliseconds win":   {seconds: "1", milliseconds: "350", want: 350 * time.Millisecond},
		"date":               {seconds: "Sun, 01 Mar 2026 12:00:09 GMT", want: 9 * time.Second},
		"past date":          {seconds: "Sun, 01 Mar 2026 11:00:00 GMT", want: 0},
		"far date":           {seconds: "Mon, 01 Mar 2027 12:00:00 GMT", want: maxWait},
		"far":                {seconds: "1e300", want: maxWait},
		"infinite":           {milliseconds: "Inf", want: maxWait},
		"no number":          {seconds: "NaN", want: 0},
		"negative":           {seconds: "-5", want: 0},
		"garbage":            {seconds: "soon", want: 0},
		"message":            {message: "Please try again in 9m38.016s.", want: 9*time.Minute + 38016*time.Millisecond},
		"message in ms":      {message: "try again in 20ms", want: 20 * time.Millisecond},
		"message of Gemini":  {message: "Please retry in 37.5s.", want: 37500 * time.Millisecond},
		"header and message": {seconds: "2", message: "try again in 9s", want: 2 * time.Second},
		"header with unit":   {seconds: "7s", want: 7 * time.Second},
		"header with units":  {seconds: "1m30s", want: 90 * time.Second},
		"header in words":    {seconds: "26 seconds", want: 26 * time.Second},
		"header with more":   {seconds: "7s; later", want: 0},
		"message in words":   {message: "Please retry after 26 seconds.", want: 26 * time.Second},
		"message of minutes": {message: "5 per 1 minute. Please wait about 2 minutes and 5.5 seconds", want: 125500 * time.Millisecond},
		"message of an hour": {message: "try again in 1 hour", want: maxWait},
		"message of days":    {message: "try again in 2 days", want: maxWait},
		"message far":        {message: "try again in 999999999h999999999h", want: maxWait},
		"message of tokens":  {message: "retry after 5 meters or 3 attempts", want: 0},
		"message in millis":  {message: "retry in 300 milliseconds", want: 300 * time.Millisecond},
		"message of nothing": {message: "try again in a while", want: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			if test.seconds != "" {
				header.Set("Retry-After", test.seconds)
			}
			if test.milliseconds != "" {
				header.Set("Retry-After-Ms", test.milliseconds)
			}
			require.Equal(t, test.want, retryAfter(header, test.message, 0, now))
		})
	}
}

// The headers of rate limits tell the wait only if a limit is used up. The longest wait counts.
func TestResetAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"OpenAI":     {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 90 * time.Second},
		"not used":   {map[string]string{"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "1m30s"}, 0},
		"Azure":      {map[string]string{"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "6"}, 6 * time.Second},
		"Anthropic":  {map[string]string{"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:09Z"}, 9 * time.Second},
		"OpenRouter": {map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772366405000"}, 5 * time.Second},
		"GitHub":     {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772366407"}, 7 * time.Second},
		"longest": {map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6ms",
			"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "8s"}, 8 * time.Second},
		"past":     {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772366000"}, 0},
		"far":      {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1e15"}, maxWait},
		"infinite": {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "Inf"}, 0},
		"garbage":  {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, 0},
		"no reset": {map[string]string{"x-ratelimit-remaining": "0"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for name, value := range test.header {
				header.Set(name, value)
			}
			require.Equal(t, test.want, resetAfter(header, now))
		})
	}
}
