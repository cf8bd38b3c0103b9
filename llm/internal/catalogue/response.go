package catalogue

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Response is one response of an endpoint.
type Response struct {
	Status     int
	Headers    map[string]string
	Body       json.RawMessage
	BodyBase64 string `json:"body_base64"`
	SSE        []string
	LineEnd    string `json:"line_end"`
	// Chunk is the number of bytes of each write; 0 means all at once.
	Chunk int
	// Disconnect closes the connection after the body, or without a response if there is no status.
	Disconnect bool
}

// Bytes returns the body.
func (r Response) Bytes() []byte {
	var text string
	switch {
	case r.SSE != nil:
		end := r.LineEnd
		if end == "" {
			end = "\n"
		}
		return []byte(strings.Join(r.SSE, end))
	case r.BodyBase64 != "":
		decoded, err := base64.StdEncoding.DecodeString(r.BodyBase64)
		if err != nil {
			panic(err) // the case is wrong
		}
		return decoded
	case strings.HasPrefix(string(r.Body), `"`) && json.Unmarshal(r.Body, &text) == nil:
		return []byte(fill(text))
	}
	return []byte(fill(string(r.Body)))
}

// ServeHTTP sends the response.
func (r Response) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if r.Status == 0 && r.Disconnect {
		panic(http.ErrAbortHandler)
	}
	for name, value := range r.Headers {
		w.Header().Set(name, fill(value))
	}
	w.WriteHeader(r.Status)
	body := r.Bytes()
	size := r.Chunk
	if size == 0 {
		size = max(len(body), 1)
	}
	for part := range slices.Chunk(body, size) {
		_, _ = w.Write(part) // the client may have stopped reading
		_ = http.NewResponseController(w).Flush()
	}
	if r.Disconnect {
		panic(http.ErrAbortHandler)
	}
}

var placeholder = regexp.MustCompile(`@(PAD|HTTPDATE):(\d+)@`)

// fill replaces the placeholders in s: @PAD:n@ by n letters, and @HTTPDATE:n@ by the date n seconds from now.
func fill(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		n, _ := strconv.Atoi(parts[2])
		if parts[1] == "PAD" {
			return strings.Repeat("x", n)
		}
		return time.Now().Add(time.Duration(n) * time.Second).UTC().Format(http.TimeFormat)
	})
}

// Endpoint serves the responses of a case: the first one to the first request, and those of Then to the later ones. It is safe for
// concurrent use.
type Endpoint struct {
	Case Case

	mu       sync.Mutex
	requests []string
}

// ServeHTTP sends the next response.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.requests = append(e.requests, r.URL.Path+" "+string(body))
	later := min(len(e.requests)-2, len(e.Case.Then)-1)
	e.mu.Unlock()
	if later >= 0 {
		e.Case.Then[later].ServeHTTP(w, r)
		return
	}
	e.Case.ServeHTTP(w, r)
}

// Requests returns the requests so far, with their paths and bodies.
func (e *Endpoint) Requests() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}
