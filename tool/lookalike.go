package tool

import "strings"

// LookAlike reports whether a person or a model may take one name of a tool for the other. Both are names that models accept, so they have
// ASCII characters alone: [ModelName] has replaced all others by "_". Names look alike if they are equal, and in two other cases:
//   - They differ in upper and lower case, in "_" and "-", or in characters that look alike: 0 and o, 1, i and l, rn and m, vv and w.
//   - They have the same length, and their characters are equal or look alike, except that one name has "_" in at most a third of the
//     places: sh_ll and shell. Such a "_" may stand for a character of another alphabet.
func LookAlike(a, b string) bool {
	same := skeleton(a)
	return a == b || same != "" && same == skeleton(b) || gaps(a, b)
}

// alike replaces characters that look alike in many fonts by one of them.
var alike = strings.NewReplacer("_", "", "-", "", "0", "o", "1", "l", "i", "l", "rn", "m", "vv", "w")

// skeleton returns the form of a name in which names that look alike are equal. It is empty for a name of separators alone.
func skeleton(name string) string { return alike.Replace(strings.ToLower(name)) }

// gaps reports the second case of [LookAlike].
func gaps(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	n := 0
	for i := range len(a) {
		switch {
		case a[i] == '_' && b[i] == '_':
		case a[i] == '_' || b[i] == '_':
			n++
		case a[i] != b[i] && skeleton(a[i:i+1]) != skeleton(b[i:i+1]):
			return false
		}
	}
	return n > 0 && 3*n <= len(a)
}
