package demo

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

// counter is an HTTP handler in front of a model endpoint. It counts the requests by their Idempotency-Key, so that it notices a
// request that is made again. It is safe for concurrent use.
type counter struct {
	next http.Handler

	mu       sync.Mutex
	requests int
	answered map[string]int // key → the number of complete responses
}

func newCounter(next http.Handler) *counter {
	return &counter{next: next, answered: map[string]int{}}
}

// ServeHTTP passes a request on, and counts it if it is for chat completions. A request counts as answered, and so as paid for,
// if it gets a complete response with status 200. A request that was refused, or that the client gave up before the end, does not
// count.
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

// ModelCount holds the counts of the model's server.
type ModelCount struct {
	Requests int `json:"requests"`
	// Keys is the number of different keys.
	Keys int `json:"keys"`
	// Answered is the number of complete responses.
	Answered int `json:"answered"`
	// Repeated is the number of complete responses to a key that had one already.
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

// answer is a response writer that notices the end of a stream. A client closes the connection as soon as it has read the end
// mark, and the handler may still be running then. Write therefore calls whole before it writes the end mark.
type answer struct {
	http.ResponseWriter
	status int
	last   []byte // the last bytes written, at most as many as the end mark has
	whole  func() // records a complete response; the second call does nothing
}

// endOfStream is the end mark of a stream in OpenAI's API.
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

// Unwrap returns the wrapped writer. [http.ResponseController] needs it, so that a reverse proxy can flush a stream.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
