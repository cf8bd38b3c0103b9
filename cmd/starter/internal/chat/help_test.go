package chat

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

// The help has all its words at each width, no line is cut or too long, and each key and command begins a line.
func TestHelpFitsTheScreen(t *testing.T) {
	all := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for _, width := range []int{30, 40, 60, 79, 80, 120} {
		lines := helpLines(width)
		for _, line := range lines {
			require.LessOrEqual(t, ansi.StringWidth(line), width, line)
		}
		text := strings.Join(lines, "\n")
		require.Equal(t, all(keysText+commandsText), all(text), "width %d", width)
		for _, begin := range []string{"Esc         clears", "PgUp PgDn   scroll", "/model [NAME]", "/approve [CALL]", "/quit"} {
			require.Contains(t, text, begin)
		}
	}
	require.Contains(t, strings.Join(helpLines(40), "\n"), `
Enter       sends; Ctrl-J, Alt-Enter and
            Shift-Enter begin a new line
`)
	require.Contains(t, strings.Join(helpLines(40), "\n"), `
/fork [N]
    goes on in a new agent with the
    first N messages
`)
}
