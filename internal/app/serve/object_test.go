package serve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
)

// In JSON, an error is one line, as it is in text. It is whole, however long it is.
func TestErrorsOfACheckAreLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	p := config.Problem{File: "a.yaml", Line: 2, Message: "the server exited; the server wrote:\n  no database\r\n\nbye " + long}
	o := Report{Problems: []config.Problem{p}, Unchecked: []config.Problem{p}}.object()
	want := "the server exited; the server wrote: no database bye " + long
	require.Equal(t, want, o.Problems[0].Error)
	require.Equal(t, want, o.Unchecked[0].Error)
	require.True(t, strings.HasPrefix(p.String(), "a.yaml:2: the server exited; the server wrote: no database bye "))
}
