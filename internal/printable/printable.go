// Package printable makes text of unknown origin fit to be shown in a terminal.
package printable

import "strings"

// Text drops the control characters of text, which could drive a terminal. New
// lines and tabs stay.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}

// Line shortens text to one line of at most limit runes.
func Line(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(Text(text)), " "))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}
