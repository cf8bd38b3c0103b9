// Package printable makes text of unknown origin safe to print. A terminal, or a program that reads
// JSON, then gets no character that moves the cursor, changes the order of the text or cannot be seen.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The zero-width joiner and non-joiner are part of emoji and of words in some scripts.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// unsafe reports whether r drives a terminal or cannot be seen: control characters (C0, DEL, C1), bidirectional and other
// format characters, zero-width characters, and Unicode's line and paragraph separators.
func unsafe(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// Text returns text with every unsafe character replaced by its escape sequence, such as \x1b or \u202e.
// New lines and tabs stay, and \r\n becomes \n. A zero-width joiner stays between two characters that are not ASCII.
// Bytes that are not UTF-8 become U+FFFD.
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
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		before = r
	}
	return b.String()
}

// safe reports whether Text returns text as it is.
func safe(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func joins(r rune) bool { return r > 0x7f && r != utf8.RuneError && !unsafe(r) }

func first(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// Line returns text in one line: white space becomes single spaces, unsafe characters become escape sequences as
// in [Text], and what exceeds limit runes is replaced by "…".
func Line(text string, limit int) string {
	runes := []rune(Text(strings.Join(strings.FieldsFunc(text, blank), " ")))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

// blank reports whether r is white space that Line may replace. U+0085 (next line) is a control character: it is escaped.
func blank(r rune) bool { return unicode.IsSpace(r) && r != 0x85 }

// Name returns a name or an ID in one line, as [Line] does. Names are cut at 250 characters.
func Name(name string) string { return Line(name, 250) }

// JSON returns encoded JSON with every unsafe character replaced by its \u escape, which
// decodes to the same value. Outside of strings valid JSON has none but new lines and tabs, which stay.
func JSON(encoded []byte) []byte {
	if safe(string(encoded)) {
		return encoded
	}
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
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
