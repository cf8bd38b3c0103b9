package builtin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"", "a/b", true},
		{"*.go", "a/b/c.go", true},
		{"a/*.go", "a/b/c.go", false},
		{"a/**/c.go", "a/b/c.go", true},
		{"a/**/c.go", "a/c.go", true},
		{"**/b/**", "a/b/c", true},
		{"**/b/**/c", "a/b/x/b/y/c", true},
		{"**", "a", true},
		{"a/**", "b/a", false},
		{"**/x", "a/b", false},
	} {
		require.Equal(t, c.want, glob(c.glob).match(c.name), "%s %s", c.glob, c.name)
	}
	// The time does not grow exponentially with the number of **.
	require.False(t, glob(strings.Repeat("**/a/", 200)+"b").match(strings.Repeat("a/", 400)+"c"))
}
