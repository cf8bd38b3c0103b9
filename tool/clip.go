package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// minEncoded is what the JSON form of a clipped text may always take, in bytes:
// well below the 2 MiB at which Temporal refuses a payload.
const minEncoded = 3 << 19 // 1.5 MiB

// Clip shortens text that a model is to read to limit bytes: the beginning and
// the end stay, two thirds and one third, and a note between them tells how many
// bytes were left out. Text that fits is returned as it is. Invalid UTF-8 is
// replaced by U+FFFD, and the result is always valid UTF-8.
//
// The limit counts bytes of text. The JSON form, as encoding/json writes it with
// HTML escaping, can be six times as long; Clip also holds it to one and a half times the
// limit or 1.5 MiB, whichever is larger. A limit below 100 leaves no room for a
// note: the text is cut. A limit of 0 or less leaves nothing.
func Clip(text string, limit int) string {
	return ClipNoting(text, limit, leftOut)
}

// ClipEncoded is [Clip] with an encoded limit of the caller's: its JSON form, the quotes included, takes that many bytes at most.
func ClipEncoded(text string, limit, encodedLimit int) string {
	return clip(text, limit, min(encodedLimit, defaultEncoded(limit))-2, leftOut)
}

func leftOut(_, bytes int) string { return fmt.Sprintf("[%d bytes left out]", bytes) }

// defaultEncoded is the encoded size to which [Clip] holds a text, the quotes included.
func defaultEncoded(limit int) int { return max(limit+limit/2, minEncoded) }

// maxNote bounds the note of [ClipNoting], encoded.
const maxNote = 128

// ClipNoting is [Clip] with a note of the caller's, of at most 120 bytes: it is told from which byte
// on how many are left out.
//
// A text that was clipped is returned as it is when it is clipped again with the same limit.
func ClipNoting(text string, limit int, note func(from, bytes int) string) string {
	limit = max(limit, 0)
	return clip(text, limit, defaultEncoded(limit)-2, note)
}

// clip is [ClipNoting] with both limits, the encoded one without the quotes.
func clip(text string, limit, encodedLimit int, note func(from, bytes int) string) string {
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

// prefixLen is the length of the longest prefix of whole runes within both
// limits.
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

// suffixLen is prefixLen from the end.
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

func encodedLen(text string) int {
	n := 0
	for _, r := range text {
		n += encodedSize(r, utf8.RuneLen(r))
	}
	return n
}

// encodedSize is the length of a rune in a JSON string of encoding/json.
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
