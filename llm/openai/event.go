package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// event is one event of a stream.
type event struct {
	name string
	data []byte
}

// done reports whether the event is the end mark of a stream.
func (e event) done() bool { return string(e.data) == "[DONE]" }

// events reads server-sent events: lines that end in LF, CRLF or CR, fields with
// or without a space after the colon, any number of comments and of fields that
// mean nothing here. It is not safe for concurrent use.
//
// Where endpoints leave the standard, it follows them: each data line that is a
// whole value is an event, though no empty line may follow it; and a line that is
// a bare JSON object is one, as some proxies report their errors.
type events struct {
	in      *bufio.Reader
	line    []byte
	afterCR bool
	first   bool
	name    string
	// part is the data of an event that goes over several lines.
	part []byte
}

func newEvents(in *bufio.Reader) *events { return &events{in: in, first: true} }

// next returns the next event with data; io.EOF when there is none, another
// error when the stream was cut within a line. The data is valid until the next
// call.
func (s *events) next() (event, error) {
	for {
		if err := s.readLine(); err != nil {
			if errors.Is(err, io.EOF) && len(s.part) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return event{}, err
		}
		if s.first {
			s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf"))
			s.first = false
		}
		if e, ok := s.take(s.line); ok {
			return e, nil
		}
		if len(s.part) > maxReply {
			return event{}, errTooLarge
		}
	}
}

// take reads one line, and returns an event that is complete with it.
func (s *events) take(line []byte) (event, bool) {
	if len(line) == 0 {
		e := event{s.name, s.part}
		s.name, s.part = "", nil
		return e, len(e.data) > 0
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
			e := event{s.name, value}
			s.name = ""
			return e, true
		}
		s.part = append(s.part, value...)
	case line[0] == '{' && json.Valid(line):
		return event{s.name, line}, true
	}
	return event{}, false
}

// readLine reads a line into s.line, without its end. Of a comment only the
// colon is kept. The last line may lack an end only if it is whole without one.
func (s *events) readLine() error {
	s.line = s.line[:0]
	for {
		b, err := s.in.ReadByte()
		if s.afterCR && err == nil && b == '\n' {
			s.afterCR = false
			continue
		}
		switch {
		case errors.Is(err, io.EOF) && len(s.line) > 0:
			if !s.whole() {
				return io.ErrUnexpectedEOF
			}
			return nil
		case err != nil:
			return err
		case b == '\r' || b == '\n':
			s.afterCR = b == '\r'
			return nil
		}
		s.afterCR = false
		if len(s.line) > 0 && s.line[0] == ':' {
			continue
		}
		if len(s.line) == maxReply {
			return errTooLarge
		}
		s.line = append(s.line, b)
	}
}

// whole reports whether a line at the end of the stream was not cut.
func (s *events) whole() bool {
	data, found := bytes.CutPrefix(s.line, []byte("data:"))
	data = bytes.TrimSpace(data)
	return s.line[0] == ':' || found && (string(data) == "[DONE]" || json.Valid(data))
}
