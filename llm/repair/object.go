package repair

import (
	"bytes"
	"encoding/json"
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

// single removes duplicate members from the objects in a valid JSON text. Like most JSON decoders, it keeps the last value of
// a member. It returns the new text and true. If there are no duplicate members, or if the text is nested more than [maxDepth]
// levels deep, it returns false.
//
// Duplicate members are dangerous, because different decoders may read different values. A tool must run with the same
// arguments that were validated, shown to people and approved.
func single(text string) (string, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	s := singler{in: d}
	out := s.value(nil, 0)
	return string(out), s.found && !s.tooDeep
}

// singler reads a valid JSON text, so its decoder returns no errors.
type singler struct {
	in      *json.Decoder
	found   bool // there was a duplicate member
	tooDeep bool // there were more than [maxDepth] values in one another; the rest was not read
}

// value reads the next value of the input and appends it to the JSON text `out`, without duplicate members. It returns the
// longer text. `depth` is the number of arrays and objects that contain the value.
func (s *singler) value(out []byte, depth int) []byte {
	if s.tooDeep = s.tooDeep || depth > maxDepth; s.tooDeep {
		return out
	}
	token, _ := s.in.Token()
	switch token {
	case json.Delim('{'):
		return s.object(out, depth)
	case json.Delim('['):
		out = append(out, '[')
		for n := 0; s.in.More() && !s.tooDeep; n++ {
			if n > 0 {
				out = append(out, ',')
			}
			out = s.value(out, depth+1)
		}
		_, _ = s.in.Token()
		return append(out, ']')
	}
	return encode(out, token)
}

// object reads the rest of an object, after its opening brace. It appends the whole object to the JSON text `out`, without
// duplicate members, and returns the longer text. `depth` is the number of arrays and objects that contain the object.
func (s *singler) object(out []byte, depth int) []byte {
	values := map[string][]byte{}
	var names []string
	for s.in.More() && !s.tooDeep {
		token, _ := s.in.Token()
		name, _ := token.(string)
		if _, there := values[name]; there {
			s.found = true
		} else {
			names = append(names, name)
		}
		values[name] = s.value(nil, depth+1)
	}
	_, _ = s.in.Token()
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(encode(out, name), ':'), values[name]...)
	}
	return append(out, '}')
}

// encode appends the JSON form of a string, number, boolean or null to the JSON text `out`. It does not escape HTML
// characters.
func encode(out []byte, value any) []byte {
	buffer := bytes.NewBuffer(out)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // cannot fail
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
