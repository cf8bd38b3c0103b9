package builtin

import (
	"fmt"
	"path"
	"strings"
)

// glob is a pattern for paths, such as src/**/*.go. It has the syntax of [path.Match], with one addition: ** matches any number
// of folders, including zero. A pattern without a slash is matched only against the last element of a path. The empty pattern
// matches every path.
type glob string

const maxGlob = 1000

func (g glob) valid() error {
	if len(g) > maxGlob {
		return fmt.Errorf("the glob has %d bytes; the limit is %d", len(g), maxGlob)
	}
	if _, err := path.Match(string(g), ""); err != nil {
		return fmt.Errorf("glob %q: %w", string(g), err)
	}
	return nil
}

// The elements of the path are separated by slashes, even on Windows.
func (g glob) match(name string) bool {
	if g == "" {
		return true
	}
	if !strings.Contains(string(g), "/") {
		name = path.Base(name)
	}
	return matchSegments(strings.Split(string(g), "/"), strings.Split(name, "/"))
}

func matchSegments(pattern, name []string) bool {
	// If a segment does not match, the search continues at the most recent ** of the pattern, which then matches one more
	// segment of the path. The earlier ** need not be tried, because they could not lead to an additional match. So at most
	// about len(pattern) * len(name) pairs of segments are compared.
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

// A pattern with a slash or ** can match entries of subfolders, so `list_files` searches them even if the model did not ask for it.
func (g glob) deep() bool {
	return strings.Contains(string(g), "/") || strings.Contains(string(g), "**")
}
