package standin

import "math/rand/v2"

// pieceSize is the approximate size of the text in one event of a stream, in bytes. It is small, so that most texts are split
// over several events. This tests whether a client joins the parts.
const pieceSize = 7

// cutter cuts texts into parts. Each part is sent in its own event of a stream. If `random` is nil, all parts have about the same
// size. If it is set, the sizes are random.
type cutter struct{ random *rand.Rand }

// pieces cuts a text into parts. It never cuts within a character, because a JSON string cannot contain half a character.
func (c cutter) pieces(text string) []string {
	var all []string
	start, size := 0, c.size()
	for i := range text {
		if i-start >= size {
			all = append(all, text[start:i])
			start, size = i, c.size()
		}
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

func (c cutter) size() int {
	if c.random == nil {
		return pieceSize
	}
	return 1 + c.random.IntN(3*pieceSize)
}

// mix merges lists of deltas (parts of a streamed message) into one list. Each list belongs to one tool call, and its deltas keep
// their order. If the cutter has a random source, the deltas of different calls are mixed at random. If it has none, the lists
// follow one another. No list may be empty. mix modifies `lists`.
func (c cutter) mix(lists [][]delta) []delta {
	var all []delta
	for len(lists) > 0 {
		at := 0
		if c.random != nil {
			at = c.random.IntN(len(lists))
		}
		all = append(all, lists[at][0])
		if lists[at] = lists[at][1:]; len(lists[at]) == 0 {
			lists = append(lists[:at:at], lists[at+1:]...)
		}
	}
	return all
}
