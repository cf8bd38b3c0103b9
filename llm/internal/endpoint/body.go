package endpoint

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// MaxReply is the length of the longest response that the client accepts, in bytes.
const MaxReply = 8 << 20

// ErrTooLarge is the error for a response that is longer than [MaxReply].
var ErrTooLarge = fmt.Errorf("the response is longer than %d MiB", MaxReply>>20)

// LostError is the error for a failed connection or an incomplete response.
type LostError struct{ Err error }

func (e LostError) Error() string { return e.Err.Error() }
func (e LostError) Unwrap() error { return e.Err }

// Unpack returns a reader for the body of a response. The reader decompresses a gzip body even if the headers of the response
// do not say that the body is compressed.
func Unpack(body io.Reader) *bufio.Reader {
	in := bufio.NewReader(body)
	if start, _ := in.Peek(1); !bytes.Equal(start, []byte("\x1f")) {
		return in // Peek(1) waits for one byte only, because more bytes of a stream may come much later
	}
	if start, _ := in.Peek(2); !bytes.Equal(start, []byte("\x1f\x8b")) {
		return in
	}
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return in
	}
	return bufio.NewReader(unpacked)
}
