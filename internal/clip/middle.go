package clip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// minEncoded is the minimum, in bytes, of the limit that [Middle] sets for the JSON form of a text. It is well below 2 MiB, the
// size above which Temporal refuses a payload.
const minEncoded = 3 << 19 // 1.5 MiB

// Middle shortens a text for a model to at most the given number of bytes (limit). It keeps the beginning (about two thirds) and
// the end (about one third). A note between them says how many bytes are missing. Middle replaces invalid UTF-8 by U+FFFD, so the
// returned text is always valid UTF-8.
//
// The JSON form of the text, as encoding/json writes it, can be six times as long as the text. So Middle also limits the JSON
// form: to 1.5 times the limit, or to 1.5 MiB if this is more. It does not shorten a text that is within both limits.
//
// If the limit is below 100, there is no room for a note, and Middle returns only the beginning of the text. If the limit is 0 or
// less, Middle returns "".
func Middle(text string, limit int) string {
	return MiddleNoting(text, limit, leftOut)
}

// MiddleEncoded is like [Middle], but the caller can limit the JSON form of the text further, to a number of bytes
// (encodedLimit). So several texts can share one payload. This limit counts the quotes of the JSON form, too. A limit above that
// of Middle has no effect.
func MiddleEncoded(text string, limit, encodedLimit int) string {
	return middle(text, limit, min(encodedLimit, defaultEncoded(limit))-2, leftOut)
}

// leftOut returns the note that [Middle] inserts for a number of missing bytes, such as "[500 bytes left out]". It does not use
// its first argument, the offset of the first missing byte.
func leftOut(_, bytes int) string { return fmt.Sprintf("[%d bytes left out]", bytes) }

// defaultEncoded returns the limit that [Middle] sets for the JSON form of a text, including its quotes, in bytes. It depends on
// the limit for the text itself (limit).
func defaultEncoded(limit int) int { return max(limit+limit/2, minEncoded) }

// maxNote is the number of bytes that [MiddleNoting] reserves for the note and the line breaks around the note.
const maxNote = 128

// MiddleNoting is like [Middle], but the caller makes the note between the beginning and the end of the text. The given function
// (note) gets the offset of the first missing byte and the number of missing bytes, and returns the note. MiddleNoting does not
// call the function if nothing is missing or if the limit is below 100.
//
// The note should have at most 120 bytes; MiddleNoting shortens a longer note. If the limit is below 256, the note and the line
// breaks around it have at most half as many bytes as the limit.
//
// If a result of MiddleNoting is passed to MiddleNoting again with the same limit, it stays the same.
func MiddleNoting(text string, limit int, note func(from, bytes int) string) string {
	limit = max(limit, 0)
	return middle(text, limit, defaultEncoded(limit)-2, note)
}

// middle implements [Middle], [MiddleEncoded] and [MiddleNoting]. encodedLimit limits the JSON form of the text, without its
// quotes, in bytes.
func middle(text string, limit, encodedLimit int, note func(from, bytes int) string) string {
	limit = max(limit, 0)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit && encodedLen(text) <= encodedLimit {
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

// prefixLen returns the length in bytes of the longest prefix of a text that ends after a whole rune and is within two limits, in
// bytes: one for the prefix itself (limit), and one for its JSON form without the quotes (encodedLimit).
func prefixLen(text string, limit, encodedLimit int) int {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if encodedLimit -= encodedSize(r, size); n+size > limit || encodedLimit < 0 {
			break
		}
		n += size
	}
	return n
}

// suffixLen is like [prefixLen], but for the longest suffix.
func suffixLen(text string, limit, encodedLimit int) int {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeLastRuneInString(text[:len(text)-n])
		if encodedLimit -= encodedSize(r, size); n+size > limit || encodedLimit < 0 {
			break
		}
		n += size
	}
	return n
}

// encodedLen returns the number of bytes that encoding/json writes for a text in a JSON string, without the quotes.
func encodedLen(text string) int {
	n := 0
	for _, r := range text {
		n += encodedSize(r, utf8.RuneLen(r))
	}
	return n
}

// encodedSize returns the number of bytes that encoding/json writes for a rune in a JSON string. It gets the length of the rune
// in UTF-8, too (size).
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
