package builtin

import (
	"fmt"
	"path"
	"strings"
)

// glob is a pattern for paths in which ** stands for any number of folders. A
// pattern without a slash is matched against the last element alone. The empty
// glob matches everything.
type glob string

// maxGlob bounds a glob in bytes.
const maxGlob = 1000

// valid reports an error for a malformed or very long pattern.
func (g glob) valid() error {
	if len(g) > maxGlob {
		return fmt.Errorf("the glob has %d bytes; the limit is %d", len(g), maxGlob)
	}
	if _, err := path.Match(string(g), ""); err != nil {
		return fmt.Errorf("glob %q: %w", string(g), err)
	}
	return nil
}

func (g glob) match(name string) bool {
	if g == "" {
		return true
	}
	if !strings.Contains(string(g), "/") {
		name = path.Base(name)
	}
	return matchSegments(strings.Split(string(g), "/"), strings.Split(name, "/"))
}

// matchSegments goes back to the last ** only: an earlier one could not match
// what that one cannot, so the time is bounded by the product of the lengths.
func matchSegments(pattern, name []string) bool {
	p, n := 0, 0
	star, starName := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, starName = p, n
			p++
		case p < len(pattern) && matchSegment(pattern[p], name[n]):
			p, n = p+1, n+1
		case star >= 0:
			starName++
			p, n = star+1, starName
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matchSegment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// deep reports whether the pattern speaks of folders.
func (g glob) deep() bool {
	return strings.Contains(string(g), "/") || strings.Contains(string(g), "**")
}
