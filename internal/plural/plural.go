// Package plural writes counts for people.
package plural

import "fmt"

// Of returns a count with its noun, such as "1 call" or "2 calls". The plural of the noun ends in s.
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
