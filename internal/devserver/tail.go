package devserver

import (
	"bytes"
	"strings"
	"sync"
)

// tailSize is the number of bytes of a server's output that are kept for an error message.
const tailSize = 4 << 10

// tail keeps the end of what is added to it.
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
		// The first line is most likely cut in half.
		if i := bytes.IndexByte(t.buf, '\n'); i >= 0 {
			t.buf = append(t.buf[:0], t.buf[i+1:]...)
		}
	}
}

// report is the end of a message: the kept lines, or nothing.
func (t *tail) report() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.buf))
	if text == "" {
		return "; it wrote nothing"
	}
	return "; it wrote:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}
