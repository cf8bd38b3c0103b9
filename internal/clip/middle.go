package clip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// minEncoded is the smallest limit, in bytes, that [Middle] sets for the JSON form of a text. It is well below 2 MiB, because Temporal
// refuses larger payloads.
const minEncoded = 3 << 19 // 1.5 MiB

// Middle shortens a text for a model to at most `limit` bytes. It keeps the beginning (about two thirds) and the end (about
// one third). A note between them says how many bytes are missing. Middle replaces invalid UTF-8 by U+FFFD. Therefore the
// returned text is always valid UTF-8.
//
// The JSON form of a text, as encoding/json writes it, can be six times as long as the text. Therefore Middle also shortens a
// text whose JSON form is too long. A JSON form is too long if it has more than 1.5 MiB and also more than 1.5 times `limit`
// bytes.
//
// If `limit` is below 100, there is no room for a note, and Middle returns only the beginning of the text. If `limit` is 0 or
// less, Middle returns "".
func Middle(text string, limit int) string {
	return MiddleNoting(text, limit, leftOut)
}

// MiddleEncoded is like [Middle], but the JSON form of the text may have at most `encodedLimit` bytes, including the quotes.
// With a small `encodedLimit`, several texts can share one payload. An `encodedLimit` above the size that Middle allows has no
// effect.
func MiddleEncoded(text string, limit, encodedLimit int) string {
	return middle(text, limit, min(encodedLimit, defaultEncoded(limit))-2, leftOut)
}

// leftOut returns the note that [Middle] inserts, such as "[500 bytes left out]". Its second argument is the number of
// missing bytes. Its first argument, the offset of the first missing byte, is not used.
func leftOut(_, bytes int) string { return fmt.Sprintf("[%d bytes left out]", bytes) }

// defaultEncoded returns the number of bytes that [Middle] allows for the JSON form of a text, with the quotes. `limit` is
// the number of bytes that Middle allows for the text itself.
func defaultEncoded(limit int) int { return max(limit+limit/2, minEncoded) }

// maxNote is the number of bytes that [MiddleNoting] reserves for the note and the line breaks around the note.
const maxNote = 128

// MiddleNoting is like [Middle], but the caller makes the note between the beginning and the end of the text. The function
// `note` gets the offset of the first missing byte and the number of missing bytes. It returns the note. MiddleNoting does
// not call `note` if nothing is missing, or if `limit` is below 100.
//
// The note should have at most 120 bytes; MiddleNoting shortens a longer note. If `limit` is below 256, the note and the line
// breaks around it have at most half as many bytes as `limit`.
//
// If a result is shortened again with the same `limit`, it does not change.
func MiddleNoting(text string, limit int, note func(from, bytes int) string) string {
	return middle(text, limit, defaultEncoded(limit)-2, note)
}

// The JSON form of the text, without the quotes, may have at most `encodedLimit` bytes.
func middle(text string, limit, encodedLimit int, note func(from, bytes int) string) string {
	limit = max(limit, 0)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit && (maxEncoded*len(text) <= encodedLimit || encodedLen(text) <= encodedLimit) {
		return text
	}
	if limit < 100 {
		return text[:prefixLen(text, limit, encodedLimit)]
	}
	room := min(maxNote, limit/2)
	limit, encodedLimit = limit-room, encodedLimit-room
	head := text[:prefixLen(text, limit/3*2, encodedLimit/3*2)]
	tail := text[len(head):]
	tail = tail[len(tail)-suffixLen(tail, limit/3, encodedLimit/3):]
	said := note(len(head), len(text)-len(head)-len(tail))
	if len(said)+2 > room {
		said = said[:prefixLen(said, room-2, room-2)]
	}
	return head + "\n" + said + "\n" + tail
}

// prefixLen returns the length in bytes of the longest prefix that meets three conditions. The prefix ends after a whole rune.
// It has at most `limit` bytes. Its JSON form, without the quotes, has at most `encodedLimit` bytes.
func prefixLen(text string, limit, encodedLimit int) int {
	return fitting(text, limit, encodedLimit, func(n int) (rune, int) { return utf8.DecodeRuneInString(text[n:]) })
}

func suffixLen(text string, limit, encodedLimit int) int {
	return fitting(text, limit, encodedLimit, func(n int) (rune, int) { return utf8.DecodeLastRuneInString(text[:len(text)-n]) })
}

// fitting adds up runes as long as they fit into both limits. The function `next` returns the rune that follows n bytes, and its size.
func fitting(text string, limit, encodedLimit int, next func(n int) (rune, int)) int {
	n := 0
	for n < len(text) {
		r, size := next(n)
		if encodedLimit -= encodedSize(r, size); n+size > limit || encodedLimit < 0 {
			break
		}
		n += size
	}
	return n
}

// maxEncoded is the largest number of bytes that encoding/json writes for one byte of a text.
const maxEncoded = 6

// encodedLen returns the number of bytes that encoding/json writes for a text in a JSON string, without the quotes.
func encodedLen(text string) int {
	n := 0
	for _, r := range text {
		n += encodedSize(r, utf8.RuneLen(r))
	}
	return n
}

func encodedSize(r rune, size int) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return 6
	}
	if r < 0x20 {
		return 6
	}
	return size
}
