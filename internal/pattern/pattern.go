// Package pattern knows what regular expressions cost that come from outside.
package pattern

import "regexp/syntax"

// Size returns about how many instructions a regular expression in RE2 syntax has when it is compiled. A repetition such
// as (a{1,30}){1,30} multiplies them, so it is asked before the compiling. The error is that of [syntax.Parse].
//
// Matching takes up to about ten nanoseconds for each instruction and byte.
func Size(expr string) (int, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return size(re), nil
}

func size(re *syntax.Regexp) int {
	n := max(1, len(re.Rune)/2) // a literal has an instruction for each rune, a class of runes a range for each pair
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
