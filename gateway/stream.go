package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// mustJSON encodes a value of this package, which never fails.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("gateway: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// stream writes server-sent events. Its methods are safe for concurrent use.
type stream struct {
	mu   sync.Mutex
	w    http.ResponseWriter
	out  *http.ResponseController
	last time.Time
	stop chan struct{}
	err  error
}

// newStream begins a stream, and keeps it alive by a comment whenever nothing has happened for the time `ping`.
func newStream(w http.ResponseWriter, ping time.Duration) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, out: http.NewResponseController(w), last: time.Now(), stop: make(chan struct{})}
	s.write(nil)
	go s.keepAlive(ping)
	return s
}

func (s *stream) keepAlive(ping time.Duration) {
	ping = max(ping, 2*time.Millisecond) // a ticker needs some time
	tick := time.NewTicker(ping / 2)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			s.mu.Lock()
			quiet := now.Sub(s.last) >= ping/2
			s.mu.Unlock()
			if quiet {
				s.write([]byte(": ping\n\n"))
			}
		}
	}
}

func (s *stream) write(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && len(data) > 0 {
		_, s.err = s.w.Write(data)
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
	s.last = time.Now()
}

// event writes an event. `name` may be empty.
func (s *stream) event(name string, v any) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(mustJSON(v))
	b.WriteString("\n\n")
	s.write(b.Bytes())
}

// errDone is the error of a stream that has ended.
var errDone = errors.New("the stream has ended")

// end ends the stream, so that nothing is written after the handler has returned.
func (s *stream) end() {
	close(s.stop)
	s.write([]byte("data: [DONE]\n\n"))
	s.mu.Lock()
	s.err = errDone
	s.mu.Unlock()
}
