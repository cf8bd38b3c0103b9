package screen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/screen/screentest"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
)

func plain(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func TestMarkdownIsRendered(t *testing.T) {
	var m Markdown
	got := plain(m.Render("# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n```go\nx := a &amp; b<T>\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[here](http://x.y/?a=1&b=2)", 60))
	for _, want := range []string{"Title", "Some bold and code.", "• one", "• two", "x := a &amp; b<T>", "http://x.y/?a=1&b=2"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "**")
	require.NotContains(t, got, "#")
	require.Contains(t, plain(m.Render("a Vec<String> & more", 60)), "a Vec<String> & more")
	for _, line := range m.Render(strings.Repeat("long ", 100)+strings.Repeat("x", 300)+"\n```\n"+strings.Repeat("y", 200)+"\n```", 40) {
		require.LessOrEqual(t, ansi.StringWidth(line), 40, line)
	}
}

// The renderer takes very long for some texts. These are shown as they are.
func TestAttackDeepMarkdownDoesNotStopTheChat(t *testing.T) {
	var m Markdown
	for _, text := range []string{strings.Repeat("> ", 300), strings.Repeat(">", 300), strings.Repeat("1. - ", 300), "- a\n" + strings.Repeat("  ", 100) + "- a", strings.Repeat("**a** ", maxMarkdown/6+1)} {
		require.Equal(t, letters(text), letters(strings.Join(m.Render(text, 40), "")))
	}
	require.Contains(t, plain(m.Render(strings.Repeat("> ", 8)+"**bold**", 40)), " bold")
}

func letters(text string) string { return strings.Join(strings.Fields(ansi.Strip(text)), "") }

func TestAttackMarkdownDrivesNoTerminal(t *testing.T) {
	for _, text := range screentest.Hostile() {
		requireSafe(t, text)
		requireSafe(t, "> "+text)
		requireSafe(t, "- a\n  - "+text+"\n\n1. "+text)
		requireSafe(t, "# "+text)
	}
}

// A person decides on arguments. So none of them may be missing on the screen.
func FuzzArgumentsAreShownExactly(f *testing.F) {
	for _, text := range append(screentest.Hostile(), `{"amount": "                                                  -5"}`, "a-b c", "日本語 -x", `{"old":"a","new":"a\nb"}`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form, shown := proposal.Of("edit_file", text), ""
		for _, line := range Form(form, 4, 24) {
			require.LessOrEqual(t, ansi.StringWidth(line), 24)
			shown += ansi.Strip(line)
		}
		require.Equal(t, letters(strings.ReplaceAll(form.String(), "\t", " ")), letters(shown))
	})
}

func FuzzWrapKeepsAllLetters(f *testing.F) {
	f.Add("- a\n"+strings.Repeat(" ", 100)+"- a", 40)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = max(2, width%100)
		lines := Wrap(printable.Text(text), width)
		require.Equal(t, letters(printable.Text(text)), letters(strings.Join(lines, "\n")))
		for _, line := range lines {
			require.LessOrEqual(t, ansi.StringWidth(line), width)
		}
	})
}

func FuzzMarkdownDrivesNoTerminal(f *testing.F) {
	for _, text := range screentest.Hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { requireSafe(t, text) })
}

// ownStyle matches the sequences of the type style.
var ownStyle = regexp.MustCompile("^\x1b\\[(?:0|1|2|3|4|9|3[1-6])?(?:;(?:1|2|3|4|9|3[1-6]))*m$")

// requireSafe asserts that a rendered text has no escape sequence other than those of the project's own style.
func requireSafe(t *testing.T, text string) {
	t.Helper()
	var m Markdown
	for _, line := range m.Render(text, 40) {
		for _, own := range styling.FindAllString(line, -1) {
			require.Regexp(t, ownStyle, own, "%q", text)
		}
		rest := styling.ReplaceAllString(line, "")
		require.Equal(t, printable.Text(rest), rest, "%q", text)
		require.NotContains(t, rest, "\n")
	}
}
