package endpoint

import (
	"cmp"
	"math"
	"net/http"
	"regexp"
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
	after := header.Get("Retry-After")
	wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond)
	if !ok {
		wait, ok = number(after, time.Second)
	}
	if !ok {
		wait, ok = duration(after)
	}
	if date, err := http.ParseTime(after); !ok && err == nil {
		wait, ok = date.Sub(now), true
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

// amounts is a regular expression for one to four numbers with units, such as "1m30s", "26 seconds" or "2 minutes and 5 seconds".
const amounts = amount + `(?:(?:,|,? and)? ?` + amount + `){0,3}`

// amount is a regular expression for a number with a unit.
const amount = `[0-9]{1,9}(?:\.[0-9]{1,9})? ?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`

var (
	wholeDuration = regexp.MustCompile(`(?i)^` + amounts + `$`)
	units         = regexp.MustCompile(`(?i)([0-9.]+) ?(ms|mil|s|m|h|d)`)
)

// duration converts numbers with units, such as "1m30s", into a duration of at most [maxWait]. It returns false if `s` is
// anything else.
func duration(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if !wholeDuration.MatchString(s) {
		return 0, false
	}
	var sum time.Duration
	for _, found := range units.FindAllStringSubmatch(strings.ToLower(s), -1) {
		part := found[1] + found[2]
		switch found[2] {
		case "mil":
			part = found[1] + "ms"
		case "d":
			return maxWait, true
		}
		wait, err := time.ParseDuration(part)
		if err != nil {
			return maxWait, true // the number is too large
		}
		sum += min(wait, maxWait)
	}
	return min(sum, maxWait), true
}

// resetAfter returns how long to wait until the rate limits allow the next request, at most [maxWait]. It returns 0 if the
// headers do not say that a limit is used up. A limit is used up if a header such as X-RateLimit-Remaining-Requests is 0 or
// less. The wait time is in the header with "Reset" instead of "Remaining" in its name.
func resetAfter(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	for name := range header {
		if !strings.Contains(name, "Ratelimit") || !strings.Contains(name, "Remaining") {
			continue
		}
		// Azure sends negative numbers, too.
		if n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(name)), 64); err == nil && n <= 0 {
			wait = max(wait, resetTime(header.Get(strings.Replace(name, "Remaining", "Reset", 1)), now))
		}
	}
	return min(wait, maxWait)
}

// resetTime converts the value of a header into the time until the reset of a limit. The value is a number with a unit, a date,
// a number of seconds, or a Unix time in seconds or milliseconds. For other values, resetTime returns 0.
func resetTime(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if wait, ok := duration(value); ok {
		return wait
	}
	if date, err := time.Parse(time.RFC3339, value); err == nil {
		return date.Sub(now)
	}
	// No limit lasts for more than 30 years, so a larger number of seconds is a Unix time.
	const year2001 = 1e9
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || math.IsNaN(n) || n < 0 || n > year2001*1e6:
		return 0
	case n > year2001*100:
		return time.UnixMilli(int64(n)).Sub(now)
	case n > year2001:
		return time.Unix(int64(n), 0).Sub(now)
	}
	wait, _ := number(value, time.Second)
	return wait
}

// retryInfo is an element of the details in Google's error objects. It may have a wait time.
type retryInfo struct {
	RetryDelay Text `json:"retryDelay"`
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
