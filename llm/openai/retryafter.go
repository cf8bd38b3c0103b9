package openai

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest wait time that the client accepts from an endpoint. Without this maximum, an endpoint with a wrong
// clock could make an agent wait for a year.
const maxWait = 10 * time.Minute

// retryAfter returns how long an endpoint asks to wait, at most [maxWait]. It returns 0 if the endpoint does not ask in a
// known form. retryAfter looks for the wait time in these places, in this order:
//   - the header Retry-After-Ms
//   - the header Retry-After, which may have a date; `now` is the present time
//   - the fields of the error object; `told` is the wait time from these fields, or 0
//   - the text of the error, `message`
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

// number converts a number such as "1.5" into a duration. `unit` is the duration that the number 1 stands for. A negative
// duration becomes 0, and a duration longer than [maxWait] becomes maxWait. number returns false if `s` is not a number.
func number(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) {
		return 0, false
	}
	// The limit applies before the conversion, because the conversion of a larger number could overflow.
	return time.Duration(min(max(n, 0), float64(maxWait/unit)) * float64(unit)), true
}

// retryInfo is an element of the details in Google's error objects. It may have a wait time.
type retryInfo struct {
	RetryDelay text `json:"retryDelay"`
}

// waitInDetails returns the wait time in the fields of an error object; 0 if there is none. `seconds` is the field
// `retry_after`. `details` is the field of the same name, in which Google sends a wait time. If `seconds` is a number,
// waitInDetails ignores `details`.
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
