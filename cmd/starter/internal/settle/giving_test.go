package settle

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// An answer or a result is passed on as it is, or refused as a mistake of the command line.
func TestGivenTextIsWholeOrRefused(t *testing.T) {
	most := strings.Repeat("x", agent.MaxGivenBytes)
	for name, c := range map[string]struct{ stdin, want, refused string }{
		"the largest":              {stdin: most, want: most},
		"the largest and its line": {stdin: most + "\n", want: most},
		"one byte more":            {stdin: most + "x", refused: "the text is larger than the limit of 300000 bytes; shorten it"},
		"much more":                {stdin: strings.Repeat("x", 2_000_000), refused: "the text is larger than the limit of 300000 bytes; shorten it"},
		"no UTF-8":                 {stdin: "caf\xe9", refused: "the text is not UTF-8; convert it to UTF-8 first"},
		"UTF-8":                    {stdin: "café\n", want: "café"},
	} {
		cmd := &cobra.Command{}
		cmd.SetIn(strings.NewReader(c.stdin))
		got, err := givenText(cmd, []string{"-"})
		if c.refused != "" {
			require.EqualError(t, err, c.refused, name)
			require.Equal(t, exit.Usage, exit.CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := givenText(&cobra.Command{}, []string{most, "x"})
	require.EqualError(t, err, "the text is larger than the limit of 300000 bytes; shorten it")
}
