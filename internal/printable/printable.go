// Package printable makes text of unknown origin safe to print. It escapes characters that move the cursor of a terminal, change
// the order of the text, or are invisible.
package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// nonJoiner is the zero-width non-joiner, an invisible character in words of some scripts.
	nonJoiner = '\u200c'
	// joiner is the zero-width joiner, an invisible character in emoji and in words of some scripts.
	joiner = '\u200d'
)

// unsafe reports whether a character must be escaped before it is printed. Such a character controls a terminal, changes the
// order of the text, or is invisible. These are control characters (C0, DEL, C1), bidirectional and other format characters,
// zero-width characters, and Unicode's line and paragraph separators.
func unsafe(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// Text makes a text of unknown origin safe to print. It replaces every unsafe character by an escape sequence, such as \x1b
// or \u202e. Unsafe characters control a terminal, change the order of the text, or are invisible.
//
// Text keeps new lines and tabs, and replaces \r\n by \n. It keeps a zero-width joiner or non-joiner if both neighbours of
// this character are safe and not ASCII. Bytes that are not UTF-8 become U+FFFD.
func Text(text string) string {
	if safe(text) {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	before := rune(0)
	for i, r := range text {
		switch {
		case r == '\n', r == '\t', !unsafe(r):
			b.WriteRune(r)
		case (r == joiner || r == nonJoiner) && joins(before) && joins(first(text[i+utf8.RuneLen(r):])):
			b.WriteRune(r)
		default:
			writeEscape(&b, r)
		}
		before = r
	}
	return b.String()
}

func writeEscape(b *strings.Builder, r rune) {
	switch {
	case r <= 0xff:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// safe reports whether a text has only printable ASCII characters, new lines and tabs. [Text] and [JSON] do not change such a
// text.
func safe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < ' ' || r >= 0x7f) && r != '\n' && r != '\t' })
}

// joins reports whether [Text] may keep a zero-width joiner or non-joiner next to the rune r. It may do so if r is safe, not
// ASCII and not U+FFFD.
func joins(r rune) bool { return r > 0x7f && r != utf8.RuneError && !unsafe(r) }

func first(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// Line returns a text on one line, with at most `limit` runes. Each sequence of white space becomes one space. Unsafe
// characters become escape sequences, as in [Text]. If the line is too long, its end is replaced by "…". The smallest allowed
// `limit` is 1.
func Line(text string, limit int) string {
	runes := []rune(Text(strings.Join(strings.FieldsFunc(text, blank), " ")))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

// blank reports whether r is white space that [Line] replaces by a space. For U+0085 (next line) it returns false, because
// Line escapes this control character.
func blank(r rune) bool { return unicode.IsSpace(r) && r != 0x85 }

// Name makes a name or an ID safe to print. The result is on one line and has at most 250 characters; see [Line].
func Name(name string) string { return Line(name, 250) }

// Encode writes a value as JSON and a newline. It escapes all characters that could control a terminal. The JSON is on one line if `indent`
// is empty.
func Encode(w io.Writer, v any, indent string) error {
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(JSON(encoded.Bytes()))
	return err
}

// JSON makes JSON of unknown origin safe to print. It replaces every unsafe character (see [Text]) by its \u escape, so the result
// decodes to the same value. White space between values stays. The argument must be valid JSON.
func JSON(encoded []byte) []byte {
	if safe(string(encoded)) {
		return encoded
	}
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
		// In valid JSON, characters below U+0020 occur only as white space between values.
		case r < ' ' || !unsafe(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return []byte(b.String())
}
