package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
)

// pairs replaces every unpaired surrogate in a valid JSON text by U+FFFD, as encoding/json does. An unpaired surrogate is half
// of a character: an escape such as \ud800 without the escape of the other half. Endpoints respond with status 400 to messages
// that contain one.
func pairs(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	out := []byte(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		first, ok := unit(out[i:])
		if !ok {
			i++ // skip the escaped character
			continue
		}
		if utf16.IsSurrogate(first) {
			second, _ := unit(out[i+6:])
			if utf16.DecodeRune(first, second) != '\uFFFD' {
				i += 6
			} else {
				copy(out[i:], `\ufffd`)
			}
		}
		i += 5
	}
	return string(out)
}

// unit returns the UTF-16 code unit of the escape at the beginning of a text, such as \u0000. It returns false if the text does
// not begin with an escape of this form.
func unit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// maxDepth is the largest number of nested values in a JSON text for which the function [single] removes duplicate members, and in a
// literal of Python that the function [literal] reads.
const maxDepth = 100

var errTooDeep = errors.New("nested too deep")

// single removes duplicate members from the objects in a valid JSON text. Like most JSON decoders, it keeps the last value of
// a member. It returns the new text and true. If there are no duplicate members, or if the text is nested more than [maxDepth]
// levels deep, it returns "" and false.
//
// Duplicate members are dangerous, because different decoders may read different values. A tool must run with the same
// arguments that were validated, shown to people and approved.
func single(text string) (string, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	s := singler{in: d}
	out, err := s.value(nil, 0)
	if err != nil || !s.found {
		return "", false
	}
	return string(out), true
}

type singler struct {
	in    *json.Decoder
	found bool // there was a duplicate member
}

// value reads the next value of the input and appends it to the JSON text `out`, without duplicate members. It returns the
// longer text. `depth` is the number of arrays and objects that contain the value. If `depth` is more than [maxDepth], value
// returns [errTooDeep].
func (s *singler) value(out []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := s.in.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return s.object(out, depth)
	case json.Delim('['):
		out = append(out, '[')
		for n := 0; s.in.More(); n++ {
			if n > 0 {
				out = append(out, ',')
			}
			if out, err = s.value(out, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = s.in.Token()
		return append(out, ']'), err
	}
	return encode(out, token)
}

// object reads the rest of an object, after its opening brace. It appends the whole object to the JSON text `out`, without
// duplicate members, and returns the longer text. `depth` is the number of arrays and objects that contain the object.
func (s *singler) object(out []byte, depth int) ([]byte, error) {
	values := map[string][]byte{}
	var names []string
	for s.in.More() {
		token, err := s.in.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, there := values[name]; there {
			s.found = true
		} else {
			names = append(names, name)
		}
		if values[name], err = s.value(nil, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := s.in.Token(); err != nil {
		return nil, err
	}
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = encode(out, name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), values[name]...)
	}
	return append(out, '}'), nil
}

// encode appends the JSON form of a string, number, boolean or null to the JSON text `out`. It does not escape HTML
// characters.
func encode(out []byte, value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return append(out, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...), nil
}
