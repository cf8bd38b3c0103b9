package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every command prints objects with --json, except those for which there is nothing to print, and the page says which.
func TestEveryCommandHasJSON(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n| command | ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var told, have []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1) {
		told = append(told, strings.Split(strings.Trim(row[1], "`"), "`, `")...)
	}
	for _, cmd := range newRoot().Commands() {
		without := slices.Contains([]string{"chat", "schema"}, cmd.Name()) || cmd.Hidden
		require.Equal(t, !without, cmd.Flags().Lookup("json") != nil, cmd.Name())
		if !without {
			have = append(have, cmd.Name())
		}
	}
	require.ElementsMatch(t, have, told)
}
