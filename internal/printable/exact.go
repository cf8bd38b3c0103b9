package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Exact is [Text] for a text on which a person decides: different texts look different. If the text is UTF-8 and has only characters that can be
// seen, spaces, tabs and new lines, Exact returns it unchanged. Otherwise it returns [Escaped], and `escaped` is true. So whoever shows the result
// must also show whether it is escaped.
func Exact(text string) (exact string, escaped bool) {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text, false
	}
	return Escaped(text), true
}

// Escaped returns a text in which each unsafe character (see [Text]), each white space other than a space, a tab and a new line, and each
// backslash is an escape sequence. Bytes that are not UTF-8 become U+FFFD.
func Escaped(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case hidden(r):
			writeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a person cannot see a character, or takes it for a space.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unsafe(r) || r != ' ' && unicode.IsSpace(r))
}
