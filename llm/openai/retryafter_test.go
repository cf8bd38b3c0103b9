package openai

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
