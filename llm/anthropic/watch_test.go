package anthropic_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// watch returns a handler that stores the path and the query of each request, and passes the request on.
func watch(next http.Handler, url *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*url = r.URL.RequestURI()
		next.ServeHTTP(w, r)
	})
}

// picky is an endpoint that refuses some requests. It stores the bodies of all requests.
type picky struct {
	// refuse returns the status and the body of the error response to a request with the given body; 0 if the request is accepted.
	refuse func(body []byte) (status int, says string)
	next   http.Handler

	mu    sync.Mutex
	asked [][]byte
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.asked = append(p.asked, body)
	p.mu.Unlock()
	if status, says := p.refuse(body); status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, says)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.next.ServeHTTP(w, r)
}

// bodies returns the bodies of the requests so far.
func (p *picky) bodies() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}
