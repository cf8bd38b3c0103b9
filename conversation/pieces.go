package conversation

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

const (
	// minPiece is the size from which a piece ends with the next word, and maxPiece is the largest size of a piece. In bytes.
	minPiece, maxPiece = 16, 64
)

// Pieces splits a text into pieces, which together are the text. A piece ends after the white space that follows a word, as soon as it has 16
// bytes. If there is no white space, it ends at a character before it has more than 64 bytes. The rule reads from the beginning, so that
// the pieces of a text that grows stay, except the last one.
func Pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := piece(text)
			if n == 0 {
				n = len(text)
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// piece returns the size of the first piece, or 0 if the text ends before it is certain where the piece ends.
func piece(text string) int {
	space := false
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			size = 1 // a byte that is no UTF-8, or U+FFFD itself, which takes 3
			if _, n := utf8.DecodeRuneInString(text[i:]); n > 1 {
				size = n
			}
		}
		if i+size > maxPiece || space && !unicode.IsSpace(r) && i >= minPiece {
			return i
		}
		space = unicode.IsSpace(r)
	}
	return 0
}
