package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reagent-dev/reagent/internal/clip"
)

// maxOutputEnd is how many bytes an [output] keeps of the beginning of the text, and how many of the end.
const maxOutputEnd = 128 << 10

// output is an [io.Writer] that keeps the beginning and the end of what is written. It never needs more than about four times
// [maxOutputEnd] of memory. The zero value is an empty output. An output is not safe for concurrent use.
type output struct {
	head []byte // at most maxOutputEnd bytes
	tail []byte // the bytes after head, without those that were left out
	left int64  // the number of bytes between head and tail that were left out
	// show gets everything that is written, as it comes; nil if nobody watches the call. See [tool.Info.Progress].
	show func(text string)
}

// Write implements [io.Writer]. It never returns an error.
func (o *output) Write(p []byte) (int, error) {
	if o.show != nil {
		o.show(string(p))
	}
	n := len(p)
	room := min(maxOutputEnd-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	o.tail = append(o.tail, p[room:]...)
	if len(o.tail) > 2*maxOutputEnd { // not at every write, because the bytes that stay are copied
		o.cut()
	}
	return n, nil
}

func (o *output) cut() {
	if extra := len(o.tail) - maxOutputEnd; extra > 0 {
		o.left += int64(extra)
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// String returns the text as the model reads it; "[no output]" for an empty output. If a part was left out, a note says how many bytes.
// Invalid UTF-8 is replaced by U+FFFD. The text ends with a line break.
func (o *output) String() string {
	o.cut()
	text := string(o.head) + string(o.tail)
	if o.left > 0 {
		// The cuts may be within a rune.
		head, tail := clip.Prefix(string(o.head), len(o.head)-1), string(o.tail)
		for i := 0; i < utf8.UTFMax-1 && tail != "" && !utf8.RuneStart(tail[0]); i++ {
			tail = tail[1:]
		}
		left := o.left + int64(len(o.head)-len(head)+len(o.tail)-len(tail))
		text = fmt.Sprintf("%s\n[%d bytes of the output are left out here]\n%s", head, left, tail)
	}
	if text == "" {
		return "[no output]\n"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
