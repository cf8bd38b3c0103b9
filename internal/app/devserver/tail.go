package devserver

import (
	"bytes"
	"strings"
	"sync"
)

const tailSize = 4 << 10

// tail keeps the last bytes of the server's output, as whole lines, for an error message. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if cut := len(t.buf) - tailSize; cut > 0 {
		t.buf = append(t.buf[:0], t.buf[cut:]...)
		// Remove the rest of the first line, which is probably incomplete.
		if i := bytes.IndexByte(t.buf, '\n'); i >= 0 {
			t.buf = append(t.buf[:0], t.buf[i+1:]...)
		}
	}
}

// report returns the kept lines as the last part of an error message. If no lines are kept, it returns "; it wrote nothing".
func (t *tail) report() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.buf))
	if text == "" {
		return "; it wrote nothing"
	}
	return "; it wrote:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}
