package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Event is one event of an event stream.
type Event struct {
	Name string // the value of the field `event`; empty if there is none
	Data []byte
}

// Done reports whether the event is "[DONE]", which marks the end of a stream.
func (e Event) Done() bool { return string(e.Data) == "[DONE]" }

// Events reads an event stream (server-sent events, HTML standard, section 9.2). Lines may end in LF, CRLF or CR. There may be a space
// after the colon of a field. Comments and unknown fields are ignored. Events is not safe for concurrent use.
//
// Endpoints deviate from the standard in two ways, and Events accepts both. First, a data line with a complete JSON value is an event
// even if no empty line follows. Second, a line without a field name is an event if it is a JSON object. Some proxies send errors in
// this form.
type Events struct {
	in      *bufio.Reader
	line    []byte // the current line
	afterCR bool   // the last line ended in CR; if LF follows, it belongs to the same line end
	begun   bool   // a line was read
	name    string
	// part has the data lines of the current event that were read so far.
	part []byte
}

// Next returns the next event with data. The data is valid until Next is called again. The error is one of these:
//   - [io.EOF] at the end of the stream
//   - [io.ErrUnexpectedEOF] if the stream was cut within an event
//   - [ErrTooLarge] if a line or an event is longer than [MaxReply]
//   - an error of the connection
func (s *Events) Next() (Event, error) {
	for {
		if err := s.readLine(); err != nil {
			if errors.Is(err, io.EOF) && len(s.part) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if !s.begun {
			s.line, s.begun = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf")), true
		}
		if e, ok := s.take(s.line); ok {
			return e, nil
		}
		if len(s.part) > MaxReply {
			return Event{}, ErrTooLarge
		}
	}
}

// take processes one line. If the line completes an event, take returns the event and true.
func (s *Events) take(line []byte) (Event, bool) {
	if len(line) == 0 {
		e := Event{s.name, s.part}
		s.name, s.part = "", nil
		return e, len(e.Data) > 0
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case string(field) == "event":
		s.name = string(value)
	case string(field) == "data" && len(s.part) > 0:
		s.part = append(append(s.part, '\n'), value...)
	case string(field) == "data":
		value = bytes.TrimSpace(value)
		if string(value) == "[DONE]" || json.Valid(value) {
			e := Event{s.name, value}
			s.name = ""
			return e, true
		}
		s.part = append(s.part, value...)
	case line[0] == '{' && json.Valid(line):
		return Event{s.name, line}, true
	}
	return Event{}, false
}

// readLine reads the next line and stores it in `s.line`, without the line end. The error is one of these:
//   - [io.EOF] at the end of the stream
//   - [io.ErrUnexpectedEOF] if the stream was cut within a line
//   - [ErrTooLarge] if the line is longer than [MaxReply]
//   - an error of the connection
//
// If the last line of the stream has no line end, a part of the line may be missing. readLine returns such a line only if
// [Events.whole] returns true.
func (s *Events) readLine() error {
	s.line = s.line[:0]
	for {
		b, err := s.in.ReadByte()
		if s.afterCR && err == nil && b == '\n' {
			s.afterCR = false
			continue
		}
		switch {
		case errors.Is(err, io.EOF) && len(s.line) > 0:
			if s.whole() {
				return nil
			}
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case b == '\r' || b == '\n':
			s.afterCR = b == '\r'
			return nil
		}
		s.afterCR = false
		if len(s.line) > 0 && s.line[0] == ':' {
			continue // of a comment, only the colon is kept, because comments are ignored
		}
		if len(s.line) == MaxReply {
			return ErrTooLarge
		}
		s.line = append(s.line, b)
	}
}

// whole reports whether `s.line` can be used although it has no line end. This is true for three kinds of lines: a comment (its text
// is ignored), a "data:" line with a JSON value or "[DONE]", and a line that is a JSON object.
func (s *Events) whole() bool {
	data, found := bytes.CutPrefix(s.line, []byte("data:"))
	data = bytes.TrimSpace(data)
	return s.line[0] == ':' || found && (string(data) == "[DONE]" || json.Valid(data)) || s.line[0] == '{' && json.Valid(s.line)
}
