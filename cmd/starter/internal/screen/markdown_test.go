package chat

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/printable"
)

func plain(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func TestMarkdownIsRendered(t *testing.T) {
	var m markdown
	got := plain(m.render("# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n```go\nx := a &amp; b<T>\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[here](http://x.y/?a=1&b=2)", 60))
	for _, want := range []string{"Title", "Some bold and code.", "• one", "• two", "x := a &amp; b<T>", "http://x.y/?a=1&b=2"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "**")
	require.NotContains(t, got, "#")
	require.Contains(t, plain(m.render("a Vec<String> & more", 60)), "a Vec<String> & more")
	for _, line := range m.render(strings.Repeat("long ", 100)+strings.Repeat("x", 300)+"\n```\n"+strings.Repeat("y", 200)+"\n```", 40) {
		require.LessOrEqual(t, ansi.StringWidth(line), 40, line)
	}
}

// The renderer takes very long for some texts. These are shown as they are.
func TestAttackDeepMarkdownDoesNotStopTheChat(t *testing.T) {
	var m markdown
	for _, text := range []string{strings.Repeat("> ", 300), strings.Repeat(">", 300), strings.Repeat("1. - ", 300), "- a\n" + strings.Repeat("  ", 100) + "- a", strings.Repeat("**a** ", maxMarkdown/6+1)} {
		require.Equal(t, letters(text), letters(strings.Join(m.render(text, 40), "")))
	}
	require.Contains(t, plain(m.render(strings.Repeat("> ", 8)+"**bold**", 40)), " bold")
}

func letters(text string) string { return strings.Join(strings.Fields(ansi.Strip(text)), "") }

// hostile are texts that a model writes to control the terminal of the reader.
var hostile = []string{
	"\x1b]0;title\a\x1b[2J", "\x9b31m \u009b31m", "&#27;[31m red", "&#x1b;]0;x&#7;", "&#155;2J", "&amp;#27;[2J", "<p>&amp;#27;[2J</p>", "&ZeroWidthSpace;&rlm;&shy;",
	"[a](http://x/\x1b[2J)", "[a](<http://x/&#27;]8;;>)", "![i](http://x/&#x9b;2J)", "`\x1b[2J`", "```\n\x1b[2J\n```", "```\x1b[2J\nx\n```",
	"| \x1b[2J | &#27; |\n|---|---|\n| a | b |", "<a href=\"&#27;\">x</a>", "&lt;&#27;&gt;", "\\\x1b[2J", "&\\#27;", "http://x/&#27;[2J", "a\u202eb\u200bc\r\n\rd\u2028e", "[x]: &#27;\n\n[x]",
}

func TestAttackMarkdownDrivesNoTerminal(t *testing.T) {
	for _, text := range hostile {
		requireSafe(t, text)
		requireSafe(t, "> "+text)
		requireSafe(t, "- a\n  - "+text+"\n\n1. "+text)
		requireSafe(t, "# "+text)
	}
}

// A person decides on arguments. So none of them may be missing on the screen.
func FuzzArgumentsAreShownExactly(f *testing.F) {
	for _, text := range append(hostile, `{"amount": "                                                  -5"}`, "a-b c", "日本語 -x") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := ""
		for _, line := range exactly(text, 24) {
			require.LessOrEqual(t, ansi.StringWidth(line), 24)
			shown += strings.TrimPrefix(line, "    ")
		}
		exact := strings.ReplaceAll(printable.Text(pretty(text)), "\t", "    ")
		require.Equal(t, strings.ReplaceAll(exact, "\n", ""), shown)
	})
}

func FuzzWrapKeepsAllLetters(f *testing.F) {
	f.Add("- a\n"+strings.Repeat(" ", 100)+"- a", 40)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = max(2, width%100)
		lines := wrap(printable.Text(text), width)
		require.Equal(t, letters(printable.Text(text)), letters(strings.Join(lines, "\n")))
		for _, line := range lines {
			require.LessOrEqual(t, ansi.StringWidth(line), width)
		}
	})
}

func FuzzMarkdownDrivesNoTerminal(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { requireSafe(t, text) })
}

// ownStyle matches the sequences of markdownStyle.
var ownStyle = regexp.MustCompile("^\x1b\\[(?:0|1|3|4|9|36)?(?:;(?:1|3|4|9|36))*m$")

// requireSafe asserts that a rendered text has no escape sequence other than those of the project's own style.
func requireSafe(t *testing.T, text string) {
	t.Helper()
	var m markdown
	for _, line := range m.render(text, 40) {
		for _, own := range styling.FindAllString(line, -1) {
			require.Regexp(t, ownStyle, own, "%q", text)
		}
		rest := styling.ReplaceAllString(line, "")
		require.Equal(t, printable.Text(rest), rest, "%q", text)
		require.NotContains(t, rest, "\n")
	}
}
