// Package canon writes JSON in one canonical form, so that equal values have equal bytes and equal hashes.
//
// The form is that of RFC 8785 (JSON Canonicalization Scheme): no white space, object members sorted by the UTF-16 code units of
// their names, strings with the shortest escapes. It differs from RFC 8785 in one point: numbers are not changed. RFC 8785
// converts every number to a double. With this rule, 9007199254740993 and 9007199254740992 would be the same tool argument.
package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrNotJSON is the error for a text that is not one valid JSON value. It is also the error for JSON that RFC 7493 (I-JSON)
// forbids: invalid UTF-8, an unpaired surrogate, or an object with two members of the same name.
var ErrNotJSON = errors.New("the text is not valid JSON, or has no canonical form (RFC 8785)")

// Text returns the canonical form of a JSON text. Two texts have the same canonical form if they differ only in white space,
// in the order of object members, or in the escapes of strings. The form is that of RFC 8785, except that numbers stay as
// written. Every error wraps [ErrNotJSON].
func Text(text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, fmt.Errorf("canon: %w", ErrNotJSON)
	}
	return canonical(text)
}

// The caller must check that the text is valid JSON.
func canonical(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("canon: invalid UTF-8: %w", ErrNotJSON)
	}
	if loneSurrogate(text) {
		return nil, fmt.Errorf("canon: unpaired surrogate: %w", ErrNotJSON)
	}
	e := encoder{in: text, out: make([]byte, 0, len(text))}
	if err := e.value(); err != nil {
		return nil, fmt.Errorf("canon: %w: %w", ErrNotJSON, err)
	}
	return e.out, nil
}

// Value encodes v with [json.Marshal] and returns the canonical form of the encoding; see [Text]. It returns an error if v
// cannot be encoded, for example if v is a channel. It returns an error that wraps [ErrNotJSON] if the encoding has no
// canonical form, for example if v is a [json.RawMessage] with a duplicate member name.
func Value(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	return canonical(text)
}

// encoder converts a valid JSON text to the canonical form. Each method converts the beginning of `in`: it removes these
// bytes from `in` and appends the converted bytes to `out`.
type encoder struct {
	in  []byte // the part of the text that is not converted yet
	out []byte // the canonical form of the part that is converted
}

// next skips white space. It leaves the byte that it returns in place.
func (e *encoder) next() byte {
	e.in = bytes.TrimLeft(e.in, " \t\r\n")
	return e.in[0]
}

func (e *encoder) value() error {
	switch e.next() {
	case '{':
		return e.object()
	case '[':
		return e.array()
	case '"':
		e.text()
	default: // a number or a literal
		end := bytes.IndexAny(e.in, ",]} \t\r\n")
		if end < 0 {
			end = len(e.in)
		}
		e.copy(end)
	}
	return nil
}

func (e *encoder) copy(n int) {
	e.out = append(e.out, e.in[:n]...)
	e.in = e.in[n:]
}

func (e *encoder) array() error {
	for e.copy(1); e.next() != ']'; {
		if e.in[0] == ',' {
			e.copy(1)
		}
		if err := e.value(); err != nil {
			return err
		}
	}
	e.copy(1)
	return nil
}

func (e *encoder) object() error {
	type member struct {
		name     string
		from, to int // the range of the member in out
	}
	var few [8]member // most objects need no more, and no allocation
	members := few[:0]
	e.copy(1)
	begin := len(e.out)
	for e.next() != '}' {
		if e.in[0] == ',' {
			e.copy(1)
			e.next()
		}
		m := member{from: len(e.out)}
		e.text()
		m.name = unquote(e.out[m.from:])
		e.next()
		e.copy(1) // the colon
		if err := e.value(); err != nil {
			return err
		}
		m.to = len(e.out)
		members = append(members, m)
	}
	byName := func(a, b member) int { return compare(a.name, b.name) }
	sorted := slices.IsSortedFunc(members, byName)
	if !sorted {
		slices.SortFunc(members, byName)
	}
	for i := range len(members) - 1 {
		if members[i].name == members[i+1].name {
			return fmt.Errorf("an object has two members with the name %q", members[i].name)
		}
	}
	if !sorted {
		unsorted := slices.Clone(e.out[begin:])
		e.out = e.out[:begin]
		for i, m := range members {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.out = append(e.out, unsorted[m.from-begin:m.to-begin]...)
		}
	}
	e.copy(1)
	return nil
}

func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // text is a valid JSON string, so there is no error
	return s
}

// RFC 8785 orders member names by their UTF-16 code units.
func compare(a, b string) int {
	// Without runes above U+FFFF, the order is that of the bytes.
	astral := func(r rune) bool { return r > 0xFFFF }
	if !strings.ContainsFunc(a, astral) && !strings.ContainsFunc(b, astral) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// text converts a JSON string to the form of RFC 8785 section 3.2.2.2. This form escapes only quotes, backslashes and control
// characters.
func (e *encoder) text() {
	e.copy(1)
	for {
		e.copy(bytes.IndexAny(e.in, `"\`)) // valid JSON has quotes, backslashes and control characters only in escapes
		if e.in[0] == '"' {
			break
		}
		r, size := escape(e.in)
		e.out = appendRune(e.out, r)
		e.in = e.in[size:]
	}
	e.copy(1)
}

// escape decodes the escape sequence at the beginning of a valid JSON text, and returns the number of its bytes. A pair of surrogates is one
// sequence; there are no unpaired ones.
func escape(text []byte) (r rune, size int) {
	switch r = escaped(text); {
	case r < 0:
		if short := strings.IndexByte("btnfr", text[1]); short >= 0 {
			return rune("\b\t\n\f\r"[short]), 2
		}
		return rune(text[1]), 2
	case utf16.IsSurrogate(r):
		return utf16.DecodeRune(r, escaped(text[6:])), 12
	}
	return r, 6
}

// appendRune appends a rune of a JSON string to the text `out`. If RFC 8785 requires an escape sequence for the rune, it
// appends this sequence instead: one of two characters, such as \n, if there is one, and \u00XX if not.
func appendRune(out []byte, r rune) []byte {
	if r == '"' || r == '\\' {
		return append(out, '\\', byte(r))
	}
	if r >= ' ' {
		return utf8.AppendRune(out, r)
	}
	if short := strings.IndexRune("\b\t\n\f\r", r); short >= 0 {
		return append(out, '\\', "btnfr"[short])
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// loneSurrogate reports whether a JSON text has a \u escape of an unpaired surrogate. Such a text has no canonical form:
// package encoding/json replaces every unpaired surrogate by U+FFFD, and different texts would get the same form.
func loneSurrogate(text []byte) bool {
	for i := 0; ; i++ {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return false
		}
		i += next
		r := escaped(text[i:])
		switch {
		case r < 0:
			i++ // a two-character escape; the text is valid JSON
		case !utf16.IsSurrogate(r):
			i += 5
		case utf16.DecodeRune(r, escaped(text[i+6:])) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
}

// escaped returns the UTF-16 code unit of the \u escape at the beginning of a text; -1 if there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
