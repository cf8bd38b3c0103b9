package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

const (
	// maxLimited limits the callers, and the addresses, whose requests are counted. The least active ones are forgotten first.
	maxLimited = 10_000
	// failuresPerMinute is how many wrong credentials an address may send, and how many log entries they make.
	failuresPerMinute = 60
)

// rateLimits limits the requests of many, each by itself.
type rateLimits struct {
	all *otter.Cache[string, *rate.Limiter]
}

func newRateLimits() *rateLimits {
	return &rateLimits{otter.Must(&otter.Options[string, *rate.Limiter]{MaximumSize: maxLimited})}
}

// take counts a request. It returns how long to wait if there were too many; zero means that there were not. Up to a sixth of the requests of a
// minute may come at once.
func (l *rateLimits) take(who string, perMinute int, now time.Time) (wait time.Duration) {
	limit, burst := rate.Limit(float64(perMinute)/60), max(1, perMinute/6)
	found, _ := l.all.ComputeIfAbsent(who, func() (*rate.Limiter, bool) { return rate.NewLimiter(limit, burst), false })
	if found.Limit() != limit { // the access file has changed
		found.SetLimitAt(now, limit)
		found.SetBurstAt(now, burst)
	}
	reserved := found.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

// take counts a request of a caller.
func (c *Control) take(p proof) *Error {
	if p.limits.requestsPerMinute == 0 {
		return nil
	}
	if wait := c.callers.take(p.caller.Name, p.limits.requestsPerMinute, c.now()); wait > 0 {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: wait,
			Message: "you send too many requests; send this one again later, or ask the operator for more requests_per_minute",
		}
	}
	return nil
}

// failed counts a wrong credential of an address. It does not look at the address before the credential: the clients behind one proxy have one
// address, and one of them with a wrong key must not lock out the others. That would not protect the secrets, because nobody can guess one; the
// limit protects the log, and clients from their own loops.
func (c *Control) failed(r *http.Request, refused *Error) *Error {
	from := client(r)
	if wait := c.failures.take(from, failuresPerMinute, c.now()); wait > 0 {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: wait,
			Message: "too many wrong keys came from this address; use the right one, or wait",
		}
	}
	c.log.Warn("A wrong key or token was refused.", "from", from)
	return refused
}

// client returns the address that a request comes from; of IPv6, the network, because one client has many addresses. Headers do not count:
// everyone can write them.
func client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	if at = at.Unmap(); at.Is6() {
		network, _ := at.WithZone("").Prefix(64) // 64 is valid
		return network.String()
	}
	return at.String()
}

// maxRunning is how many requests of one caller may run at once. Event streams run for long, and each has a connection.
const maxRunning = 200

// running counts the requests of each caller that are running.
type running struct {
	mu    sync.Mutex
	count map[string]int
}

func newRunning() *running { return &running{count: map[string]int{}} }

// begin counts a request until [running.end], if it returns nil.
func (r *running) begin(who string) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[who] >= maxRunning {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: time.Second,
			Message: fmt.Sprintf("%d of your requests are running; wait until one has ended", maxRunning),
		}
	}
	r.count[who]++
	return nil
}

func (r *running) end(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[who]--; r.count[who] == 0 {
		delete(r.count, who)
	}
}

// limitBody lets the handler read at most `limit` bytes.
func limitBody(w http.ResponseWriter, r *http.Request, limit int64) *Error {
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	return nil
}
