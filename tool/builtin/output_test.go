package builtin

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What is shown and what is left out is together the whole output, whatever the sizes of the writes are. No rune is cut.
func TestOutputCountsWhatItLeavesOut(t *testing.T) {
	note := regexp.MustCompile(`\n\[(\d+) bytes of the output are left out here\]\n`)
	for _, text := range []string{"x", "é", "日", "🙂", "a🙂é日"} {
		for _, size := range []int{0, 10, 2*maxOutputEnd - 7, 2 * maxOutputEnd, 2*maxOutputEnd + 7, 3 * maxOutputEnd, 5*maxOutputEnd + 1} {
			for _, step := range []int{1000, 32 << 10, maxOutputEnd + 1, 10 * maxOutputEnd} {
				all := strings.Repeat(text, size/len(text))
				var o output
				for rest := all; rest != ""; {
					n, err := o.Write([]byte(rest[:min(step, len(rest))]))
					require.NoError(t, err)
					rest = rest[n:]
					require.LessOrEqual(t, cap(o.head)+cap(o.tail), 16*maxOutputEnd)
				}
				shown := o.String()
				require.True(t, utf8.ValidString(shown))
				require.NotContains(t, shown, "\uFFFD")
				m := note.FindStringSubmatchIndex(shown)
				if m == nil {
					require.Equal(t, cmp.Or(all, "[no output]")+"\n", shown)
					require.LessOrEqual(t, len(all), 2*maxOutputEnd)
					continue
				}
				left, err := strconv.Atoi(shown[m[2]:m[3]])
				require.NoError(t, err)
				head, tail := shown[:m[0]], strings.TrimSuffix(shown[m[1]:], "\n")
				require.Equal(t, len(all), len(head)+left+len(tail))
				require.True(t, strings.HasPrefix(all, head) && strings.HasSuffix(all, tail))
				require.Greater(t, len(shown), 2*maxOutputEnd-10, "no more is left out than needed")
			}
		}
	}
}
