package pattern

import (
	"regexp/syntax"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeIsAboutThatOfTheProgram(t *testing.T) {
	for _, expr := range []string{"", "a", "abc", "(x+x+)+y", "a{5,20}", "(a{1,10}){1,10}", "[a-z]+|[0-9]*", "x{3,}", "(?i)straße", `^\s*func (\w+)\(`} {
		n, err := Size(expr)
		require.NoError(t, err)
		re, err := syntax.Parse(expr, syntax.Perl)
		require.NoError(t, err)
		prog, err := syntax.Compile(re.Simplify())
		require.NoError(t, err)
		require.GreaterOrEqual(t, 2*n+4, len(prog.Inst), expr)
		require.LessOrEqual(t, n, 4*len(prog.Inst), expr)
	}
	_, err := Size("(")
	require.Error(t, err)
}
