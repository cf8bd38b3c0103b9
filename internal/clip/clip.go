// Package clip shortens texts without cutting a rune in two.
package clip

import "unicode/utf8"

const ellipsis = "…"

// Prefix returns the longest beginning of text that has at most limit bytes.
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

// Text is [Prefix] with an ellipsis where something was cut off. The ellipsis counts; it has 3 bytes.
func Text(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Prefix(text, limit-len(ellipsis)) + ellipsis
}
