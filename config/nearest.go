package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func suggest[V any](name string, known map[string]V) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "none are defined"
	}
	return "write one of: " + strings.Join(sorted(known), ", ")
}

// suggestBut is [suggest] without the names that would be a mistake: `others`, such as the agent itself among its sub-agents.
func suggestBut[V any](name string, defined map[string]V, others ...string) string {
	offered := maps.Clone(defined)
	maps.DeleteFunc(offered, func(name string, _ V) bool { return slices.Contains(others, name) })
	if len(offered) == 0 && len(defined) > 0 {
		return "define it, or remove it"
	}
	return suggest(name, offered)
}

// nearest returns the most similar name; "" if none is similar. A name is similar if it needs at most one edit for every three
// letters of the given name; one edit is always allowed.
func nearest[V any](name string, known map[string]V) string {
	// With more edits than the limit, the names are probably different words.
	best, bestEdits := "", max(1, len(name)/3)+1
	for _, k := range sorted(known) {
		// Names of more than 64 bytes are not compared. They are hardly typing mistakes, and edits would take long.
		if len(name) > 64 || len(k) > 64 {
			continue
		}
		if e := edits(strings.ToLower(name), k); e < bestEdits {
			best, bestEdits = k, e
		}
	}
	return best
}

// edits returns the number of edits that turn the text `a` into the text `b`. An edit adds, removes or replaces a byte, or
// swaps two neighbouring bytes. The result is the optimal string alignment distance.
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
