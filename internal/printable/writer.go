package printable

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer applies [Text] to everything that is written through it. It is put around the standard output and the
// standard error of a program, so that no output can be forgotten. It is safe for concurrent use.
type Writer struct {
	out io.Writer

	mu sync.Mutex
	// rest is the beginning of a character whose other bytes are still to come.
	rest []byte
}

// NewWriter returns a Writer to out. A Writer is returned as it is.
func NewWriter(out io.Writer) *Writer {
	if w, ok := out.(*Writer); ok {
		return w
	}
	return &Writer{out: out}
}

// Unwrap returns what w writes to if it is a [*Writer], else w. It is for code that drives the terminal itself; such
// code applies [Text] to all text of others.
func Unwrap(w io.Writer) io.Writer {
	if safe, ok := w.(*Writer); ok {
		return safe.out
	}
	return w
}

// Write writes p with its unsafe characters escaped.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.rest, p)
	cut := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if c := text[len(text)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-back:]) {
				cut = len(text) - back
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[cut:]...)
	if cut == 0 {
		return len(p), nil
	}
	if _, err := w.out.Write([]byte(Text(string(text[:cut])))); err != nil {
		return 0, err
	}
	return len(p), nil
}
