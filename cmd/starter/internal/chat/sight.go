package chat

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// sight is what of a text has been on the screen. A position in the text is the number of characters before it that are no spaces, so it
// is the same at each width of the screen: neither a line break nor an indentation moves it. Nothing of the zero value has been seen.
type sight struct {
	// seen are the parts that have been on the screen, in order and apart from each other.
	seen []span
}

// span is a part of a text, from a position to the position behind it.
type span struct{ from, to int }

// see adds a part that is on the screen.
func (s *sight) see(part span) {
	if part.from >= part.to {
		return
	}
	begin, _ := slices.BinarySearchFunc(s.seen, part.from, func(p span, at int) int { return p.to - at })
	end := begin
	for ; end < len(s.seen) && s.seen[end].from <= part.to; end++ {
		part.from, part.to = min(part.from, s.seen[end].from), max(part.to, s.seen[end].to)
	}
	s.seen = slices.Replace(s.seen, begin, end, part)
}

// missing returns the first position that has not been on the screen.
func (s *sight) missing() int {
	if len(s.seen) == 0 || s.seen[0].from > 0 {
		return 0
	}
	return s.seen[0].to
}

// characters returns the number of characters of a line that are no spaces.
func characters(line string) int {
	n := 0
	for _, r := range ansi.Strip(line) {
		if r != ' ' {
			n++
		}
	}
	return n
}

// endsOf returns the position behind each of the lines, if the first one begins at `from`.
func endsOf(lines []string, from int) []int {
	ends := make([]int, len(lines))
	for i, line := range lines {
		from += characters(line)
		ends[i] = from
	}
	return ends
}
