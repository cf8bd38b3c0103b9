// Package canon writes JSON in one canonical form, so that equal values have
// equal bytes and may be hashed.
//
// The form is that of RFC 8785 (JSON Canonicalization Scheme): no white space,
// object members sorted by the UTF-16 code units of their names, strings with the
// shortest escapes. It differs in one point: numbers keep the digits in which they
// were written. RFC 8785 reads every number as a double, by which
// 9007199254740993 and 9007199254740992 would be one argument.
package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrNotJSON is wrapped by the error for text that has no canonical form: no
// JSON, more than one value, invalid UTF-8, half of a surrogate pair, or an
// object that names a member twice (RFC 7493 forbids the last three).
var ErrNotJSON = errors.New("not JSON with a canonical form")

// maxDepth bounds recursion over untrusted text; encoding/json has the same bound.
const maxDepth = 10000

// Text returns the canonical form of JSON text.
func Text(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("canon: invalid UTF-8: %w", ErrNotJSON)
	}
	if loneSurrogate(text) {
		return nil, fmt.Errorf("canon: half of a surrogate pair: %w", ErrNotJSON)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	e := encoder{in: d, out: make([]byte, 0, len(text))}
	if err := e.value(0); err != nil {
		return nil, fmt.Errorf("canon: %w: %w", ErrNotJSON, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("canon: text after the value: %w", ErrNotJSON)
	}
	return e.out, nil
}

// Value returns the canonical form of v's JSON encoding. Like [json.Marshal] it
// fails only for values that have none, such as a channel.
func Value(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	return Text(text)
}

// encoder copies one value from a token stream, sorting objects on the way.
type encoder struct {
	in  *json.Decoder
	out []byte
}

func (e *encoder) value(depth int) error {
	token, err := e.in.Token()
	if err != nil {
		return err
	}
	return e.token(token, depth)
}

func (e *encoder) token(token json.Token, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return e.array(depth)
		}
		return e.object(depth)
	case string:
		e.out = appendString(e.out, t)
	case json.Number:
		e.out = append(e.out, t...)
	case bool:
		if t {
			e.out = append(e.out, "true"...)
		} else {
			e.out = append(e.out, "false"...)
		}
	case nil:
		e.out = append(e.out, "null"...)
	}
	return nil
}

func (e *encoder) array(depth int) error {
	e.out = append(e.out, '[')
	for i := 0; e.in.More(); i++ {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(depth + 1); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	_, err := e.in.Token()
	return err
}

func (e *encoder) object(depth int) error {
	type member struct {
		name  string
		units []uint16
		value []byte
	}
	var members []member
	for e.in.More() {
		token, err := e.in.Token()
		if err != nil {
			return err
		}
		name := token.(string) // encoding/json yields nothing else here
		inner := encoder{in: e.in}
		if err := inner.value(depth + 1); err != nil {
			return err
		}
		members = append(members, member{name, utf16.Encode([]rune(name)), inner.out})
	}
	if _, err := e.in.Token(); err != nil {
		return err
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	e.out = append(e.out, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return fmt.Errorf("member %q twice", m.name)
			}
			e.out = append(e.out, ',')
		}
		e.out = appendString(e.out, m.name)
		e.out = append(e.out, ':')
		e.out = append(e.out, m.value...)
	}
	e.out = append(e.out, '}')
	return nil
}

const hex = "0123456789abcdef"

// appendString writes s as RFC 8785 section 3.2.2.2 demands: escapes only for the
// quote, the backslash and control characters, the short ones where they exist.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case c == '\b':
			out = append(out, '\\', 'b')
		case c == '\t':
			out = append(out, '\\', 't')
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\f':
			out = append(out, '\\', 'f')
		case c == '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, '"')
}

// loneSurrogate reports whether JSON text escapes half of a surrogate pair.
// encoding/json would replace it by U+FFFD, and two different texts would be one.
func loneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		r := escaped(text[i:])
		switch {
		case r < 0:
			i++ // a short escape, or text that the decoder refuses
		case !utf16.IsSurrogate(r):
			i += 5
		case utf16.DecodeRune(r, escaped(text[i+6:])) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// escaped returns the code unit of the \uXXXX that text begins with, or -1.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range text[2:6] {
		digit := strings.IndexByte(hex, lower(c))
		if digit < 0 {
			return -1
		}
		r = r<<4 | rune(digit)
	}
	return r
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}
