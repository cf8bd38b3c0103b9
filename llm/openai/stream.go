package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// A stream becomes one completion here, on the wire, and the library decodes
// that as it decodes any other. Its own reader of streams is left aside: it
// takes a stream that was cut for one that ended, fails after some hundred
// keep-alive comments in a row, passes over errors in most of their forms, and
// fails on what the lenient types of this package take. What is left of it after
// that would be less than this file, and a second way for every reply to go.

// streams reports whether an answer is an event stream: by its first bytes, since
// endpoints send errors and whole completions under the name of a stream, and
// streams under the name of JSON.
func streams(header http.Header, body *bufio.Reader) bool {
	for n := 1; ; n++ {
		start, err := body.Peek(n)
		start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
		if len(start) == 0 && err == nil && n < body.Size() {
			continue
		}
		switch {
		case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("<")):
			return false
		case strings.HasPrefix(header.Get("Content-Type"), "text/event-stream"):
			return true
		}
		start, _ = body.Peek(n + len("data"))
		return bytes.HasSuffix(start, []byte("data:"))
	}
}

// readStream reads an event stream to the end of its reply. Once that is there
// whole, nothing that follows can fail it.
func (x *exchange) readStream(a answer, in *bufio.Reader, quiet *silence) (completion, error) {
	whole := assembly{tell: x.tell}
	stream := newEvents(in)
	for {
		e, err := stream.next()
		switch {
		case err == nil && !e.done():
			err = a.take(e, &whole)
		case err == nil && !whole.spoke():
			return whole.completion(), nil // said, and thus counted, as an empty reply
		case err == nil || errors.Is(err, io.EOF):
			err = lostError{errCutShort}
		case !errors.Is(err, errTooLarge):
			err = lostError{err}
		}
		switch {
		case err != nil && whole.finished():
			return whole.completion(), nil
		case errors.Is(err, errTooLarge):
			return completion{}, a.tooLarge()
		case err != nil:
			return completion{}, err
		case whole.finished():
			quiet.closing()
		case whole.spoke():
			// Before the first word a model may think for as long as it is given.
			quiet.limitTo(x.client.options.IdleTimeout)
		}
	}
}

// take adds an event to the reply, unless it is an error.
func (a answer) take(e event, whole *assembly) error {
	a.body, a.failed = e.data, e.name == "error"
	if err := a.failure(); err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(e.data, &c); err != nil {
		return &llm.Error{Class: llm.BadReply, Status: a.status, Err: err,
			Message: "an event of the stream cannot be read: " + string(e.data)}
	}
	return whole.add(c)
}
