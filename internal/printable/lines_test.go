package printable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastLines(t *testing.T) {
	for output, want := range map[string]string{
		"":                               "",
		"\r\n\n":                         "",
		"one":                            "one",
		"one\ntwo\nthree\n\n":            "two\nthree",
		"one\r\ntwo\r\n":                 "one\ntwo",
		"old\n10 %\r55 %\r100 %\ndone":   "100 %\ndone",
		"a\tb\x1b[2J\n\u202ec\xff":       "a  b\\x1b[2J\n\\u202ec\ufffd",
		"50 %\r":                         "50 %",
		"done\nprogress 1\rprogress 2\r": "done\nprogress 2",
	} {
		require.Equal(t, want, LastLines(output, 2), "%q", output)
	}
}
