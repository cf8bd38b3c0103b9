package demo

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

// counter stands in front of a model endpoint and counts what comes: by the key that every
// request has, so that a request which is made again is seen.
type counter struct {
	next http.Handler

	mu       sync.Mutex
	requests int
	answered map[string]int // key → how often it got a whole answer
}

func newCounter(next http.Handler) *counter {
	return &counter{next: next, answered: map[string]int{}}
}

// ServeHTTP passes a request on. What is answered is paid for; a request that was refused, or
// whose caller went away before the answer's end, is not.
func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		c.next.ServeHTTP(w, r)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	c.mu.Lock()
	c.requests++
	if _, seen := c.answered[key]; !seen {
		c.answered[key] = 0
	}
	c.mu.Unlock()
	answer := &answer{ResponseWriter: w, status: http.StatusOK}
	answer.whole = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.answered[key]++
	})
	c.next.ServeHTTP(answer, r)
	if answer.status == http.StatusOK && r.Context().Err() == nil {
		answer.whole()
	}
}

// ModelCount is what the model's server counted.
type ModelCount struct {
	Requests int `json:"requests"`
	// Keys is how many different requests there were.
	Keys     int `json:"keys"`
	Answered int `json:"answered"`
	// Repeated is how many were answered that had been answered before.
	Repeated int `json:"repeated"`
}

func (c *counter) count() ModelCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := ModelCount{Requests: c.requests, Keys: len(c.answered)}
	for _, times := range c.answered {
		n.Answered += times
		n.Repeated += max(0, times-1)
	}
	return n
}

// answer watches for the end of a stream. A client hangs up as soon as it has read the end mark,
// while the handler still waits for the connection's end: so the mark counts, before it goes out.
type answer struct {
	http.ResponseWriter
	status int
	last   []byte // what was written last, shorter than the mark
	whole  func()
}

var endOfStream = []byte("data: [DONE]")

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.last = append(a.last, p...)
	if a.status == http.StatusOK && bytes.Contains(a.last, endOfStream) {
		a.whole()
	}
	a.last = append(a.last[:0], a.last[max(0, len(a.last)-len(endOfStream)):]...)
	return a.ResponseWriter.Write(p)
}

// Unwrap lets a reverse proxy flush a stream.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
