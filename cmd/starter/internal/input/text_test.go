package input

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// Without arguments, the text is read from standard input, as with "-".
func TestNewcomerPipesTheTask(t *testing.T) {
	for _, c := range []struct {
		args        []string
		stdin, want string
		refusedWith string
	}{
		{args: []string{"What", "now?"}, stdin: "ignored", want: "What now?"},
		{args: []string{"-"}, stdin: "a task\n", want: "a task"},
		{stdin: "a task\nin two lines\n", want: "a task\nin two lines"},
		{stdin: "", refusedWith: "the text is missing"},
		{args: []string{"-"}, stdin: "", refusedWith: "standard input is empty"},
	} {
		cmd := &cobra.Command{Use: "run"}
		cmd.SetIn(strings.NewReader(c.stdin))
		got, err := Text(cmd, c.args)
		if c.refusedWith != "" {
			require.ErrorContains(t, err, c.refusedWith)
			require.Equal(t, exit.Usage, exit.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}
