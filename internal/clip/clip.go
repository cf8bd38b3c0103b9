// Package clip shortens texts. It never splits a UTF-8 encoded rune.
package clip

import "unicode/utf8"

const ellipsis = "…"

// Prefix returns the longest prefix of a text that has at most the given number of bytes (limit) and does not end within a rune.
// A negative limit counts as 0.
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

// Text shortens a text to at most the given number of bytes (limit). It cuts off the end and appends an ellipsis ("…", 3 bytes),
// which counts, too. A text that is short enough is returned unchanged. If the limit is below 3, even the ellipsis does not fit;
// the result for a text that is too long is then the ellipsis alone.
func Text(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Prefix(text, limit-len(ellipsis)) + ellipsis
}
