// Package pattern estimates the cost of regular expressions from untrusted sources.
package pattern

import "regexp/syntax"

// Size estimates how many instructions a regular expression in RE2 syntax has when it is compiled. With this number, a caller
// can refuse a large expression without compiling it. Nested repetitions such as (a{1,30}){1,30} multiply the instructions.
// Compilation takes time and memory for each instruction. Matching takes up to about ten nanoseconds for each instruction and
// each byte of the text.
//
// The error is the error of [syntax.Parse].
func Size(expr string) (int, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return size(re), nil
}

func size(re *syntax.Regexp) int {
	n := max(1, len(re.Rune)/2) // re.Rune of a character class has two runes for each range; a literal is set below
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n + 1
}
