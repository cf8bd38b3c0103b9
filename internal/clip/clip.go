// Package clip shortens texts. It never splits a UTF-8 encoded rune.
package clip

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Prefix returns the longest prefix of a text that has at most `limit` bytes and does not end within a rune. A negative
// `limit` counts as 0.
func Prefix(text string, limit int) string {
	limit = max(limit, 0)
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && limit-end < utf8.UTFMax-1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Text shortens a text to at most `limit` bytes. It cuts off the end and appends an ellipsis ("…"). The 3 bytes of the
// ellipsis count, too. A text that is short enough is returned unchanged. If `limit` is below 3, not even the ellipsis fits.
// Text then returns the ellipsis alone for a text that is too long.
func Text(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Prefix(text, limit-len(ellipsis)) + ellipsis
}

// UTF8 is like [Text], and replaces bytes that are not UTF-8 by U+FFFD, because Temporal rejects a failure with such bytes. These
// replacements may make the result longer than the limit.
func UTF8(text string, limit int) string { return strings.ToValidUTF8(Text(text, limit), "\uFFFD") }
