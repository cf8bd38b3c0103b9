package llmtest

import "math/rand/v2"

// pieceSize is about how much of a text one event of a stream carries, in
// bytes: little, so that clients meet words and arguments that are cut apart.
const pieceSize = 7

// cutter cuts texts for a stream, at random with a source of randomness.
type cutter struct{ random *rand.Rand }

// pieces cuts a text between characters: JSON cannot hold a part of one.
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

// mix joins lists, each in its order: one after the other, or at random.
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
