package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/screen/screentest"
	"github.com/reagent-dev/reagent/internal/printable"
)

// A line of code that is too long goes on behind its own indentation, and no further line is broken.
func TestCodeIsBrokenOnceAndKeepsItsIndent(t *testing.T) {
	t.Parallel()
	var m Markdown
	const code = "```go\nfunc main() {\n\tif x := \"a long text that goes on and on\"; x != \"\" {\n\t\treturn\n\t}\n}\n```"
	require.Equal(t, `  func main() {
      if x := "a long text that goes on
        and on"; x != "" {
          return
      }
  }`, strings.ReplaceAll(plain(m.Render(code, 40)), " \n", "\n"))
	require.Equal(t, "  func main() {\n      if x := \"a long text that goes on and on\"; x != \"\" {\n          return\n      }\n  }", plain(m.Render(code, 80)))
	require.Equal(t, "  + 你好你\n    好", plain(m.Render("```diff\n+ 你好你好\n```", 10)), "wide characters")
}

func TestCodeHasTheColoursOfItsLanguage(t *testing.T) {
	t.Parallel()
	var m Markdown
	got := strings.Join(m.Render("```go\nreturn 12 // twelve\n```\n```none\nx\n```\n```diff\n- a\n+ b\n```", 60), "\n")
	for _, want := range []string{"\x1b[35mreturn\x1b[m", "\x1b[36m12\x1b[m", "\x1b[2m// twelve\x1b[m", "\x1b[36mx\x1b[m", "\x1b[31m- a\x1b[m", "\x1b[32m+ b\x1b[m"} {
		require.Contains(t, got, want)
	}
}

// Nothing of a block of code is missing, whatever its language is.
func TestAttackCodeIsWhole(t *testing.T) {
	t.Parallel()
	var m Markdown
	for _, code := range append(screentest.Hostile(), "a := `x", "<?php \"$x", "\"\"\"\n'''", "#!/bin/sh\ncat <<EOF\n$(x", strings.Repeat("((((", 500), "{\"a\": [1, }") {
		if strings.Contains(code, "`") {
			continue // it may end the block
		}
		for _, language := range []string{"", "go", "php", "python", "sh", "json", "html", "markdown", "no such language"} {
			got := m.Render("```"+language+"\n"+code+"\n```", 30)
			require.Equal(t, letters(printable.Text(code)), letters(strings.Join(got, "")), "%q in %q", code, language)
		}
	}
}

func TestListsHang(t *testing.T) {
	t.Parallel()
	var m Markdown
	require.Equal(t, `• one that is
  long
  • and nested
    is this
• two
9. nine that is
   long
10. ten`, plain(m.Render("- one that is long\n  - and nested is this\n- two\n\n\n9. nine that is long\n10. ten", 16)[0:5])+"\n"+plain(m.Render("9. nine that is long\n10. ten", 16)))
	require.Equal(t, "• a\n\n  b\n\n• c", plain(m.Render("- a\n\n  b\n- c", 40)))
}

func TestTableFitsTheWidth(t *testing.T) {
	t.Parallel()
	var m Markdown
	const table = "| name | what it is |\n|---|---|\n| x | words that do not fit here |\n| `y` | z |"
	require.Equal(t, "name │ what it is\n─────┼──────────────\nx    │ words that do\n     │ not fit here\ny    │ z", plain(m.Render(table, 20)))
	for width := range 30 {
		for _, line := range m.Render(table, width+1) {
			require.LessOrEqual(t, ansi.StringWidth(line), width+1)
		}
	}
}

// An escaped character, HTML and a reference stand as a reader of Markdown expects, and the address of a link is text.
func TestInlineTextIsKept(t *testing.T) {
	t.Parallel()
	var m Markdown
	require.Equal(t, "a*b <i>c</i> &lt; d_e x *y* <http://x.y> z (http://a.b/?c=1&d=2)",
		strings.ReplaceAll(plain(m.Render("a\\*b <i>c</i> &lt; d_e `x *y*` \\<http://x.y> [z](http://a.b/?c=1&d=2)", 100)), "\n", " "))
	require.Equal(t, "http://x.y/z", plain(m.Render("<http://x.y/z>", 40)))
	require.Equal(t, "http://x.y/z", plain(m.Render("[http://x.y/z](http://x.y/z)", 40)))
}
