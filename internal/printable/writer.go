package printable

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer applies [Text] to everything that is written to it, and writes the result to another writer. Programs wrap their standard
// output and standard error in a Writer, so all their output is safe. A Writer is safe for concurrent use.
type Writer struct {
	out io.Writer

	mu sync.Mutex
	// rest has the bytes of an incomplete character at the end of the last Write. The next Write completes the character.
	rest []byte
}

// NewWriter returns a Writer that writes to the writer `out`. If `out` is a Writer already, NewWriter returns `out`.
func NewWriter(out io.Writer) *Writer {
	if w, ok := out.(*Writer); ok {
		return w
	}
	return &Writer{out: out}
}

// Unwrap returns the underlying writer of a [*Writer]. It returns any other writer unchanged. Code that writes terminal
// control sequences calls Unwrap. Such code must apply [Text] to all text of unknown origin.
func Unwrap(w io.Writer) io.Writer {
	if safe, ok := w.(*Writer); ok {
		return safe.out
	}
	return w
}

// Write writes the given bytes with their unsafe characters escaped. An incomplete UTF-8 character at the end waits for the
// next Write.
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
