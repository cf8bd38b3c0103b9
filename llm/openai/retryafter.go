package openai

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest wait that is taken from an endpoint: a clock that is
// wrong must not put an agent to sleep for a year.
const maxWait = 10 * time.Minute

// retryAfter returns how long the endpoint asks to wait, between 0, which is
// also what an unreadable or past time means, and maxWait. The finer header
// wins, and a header over the body, where told is what its fields say.
func retryAfter(header http.Header, message string, told time.Duration, now time.Time) time.Duration {
	wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond)
	if !ok {
		wait, ok = number(header.Get("Retry-After"), time.Second)
	}
	if !ok {
		var date time.Time
		var err error
		if date, err = http.ParseTime(header.Get("Retry-After")); err == nil {
			wait, ok = date.Sub(now), true
		}
	}
	if !ok {
		wait = cmp.Or(told, waitInMessage(message))
	}
	return min(max(wait, 0), maxWait)
}

// number reads a number of units, whole or not.
func number(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) {
		return 0, false
	}
	// The cap comes before the conversion, which would overflow.
	return time.Duration(min(max(n, 0), float64(maxWait/unit)) * float64(unit)), true
}

// retryInfo is Google's form of a wait, one of an error's details.
type retryInfo struct {
	RetryDelay text `json:"retryDelay"`
}

// waitInDetails returns the wait that an error's fields ask for: a number of
// seconds, or Google's duration.
func waitInDetails(seconds string, details []retryInfo) time.Duration {
	if wait, ok := number(seconds, time.Second); ok {
		return wait
	}
	for _, d := range details {
		if wait, err := time.ParseDuration(string(d.RetryDelay)); err == nil {
			return wait
		}
	}
	return 0
}
