package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// suggest ends a message about a name that does not exist: with the known name
// it was likely meant to be, else with all of them.
func suggest[V any](name string, known map[string]V) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there are none"
	}
	return "there is: " + strings.Join(sorted(known), ", ")
}

// nearest returns the known name with the fewest edits from name, or "" when
// none is near: more than one edit for every three letters is another word.
func nearest[V any](name string, known map[string]V) string {
	best, bestEdits := "", max(1, len(name)/3)+1
	for _, k := range sorted(known) {
		// A long name is not worth comparing; it is no typing mistake.
		if len(name) > 64 || len(k) > 64 {
			continue
		}
		if e := edits(strings.ToLower(name), k); e < bestEdits {
			best, bestEdits = k, e
		}
	}
	return best
}

// edits counts the letters to add, drop, replace or swap with their neighbour
// to make b of a (optimal string alignment), in bytes.
func edits(a, b string) int {
	var before []int // the row before the last, for swaps
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
