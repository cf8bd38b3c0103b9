package proposal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/printable"
)

// The arguments of a call have the form in which a person can judge them: a text has its line breaks, an edit is a difference, a command
// stands as it would run, and other values are a table.
func TestFormFollowsTheArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"write_file", `{"content":"# Plan\n\tone\n","path":"notes.md"}`, "path  notes.md\ncontent (2 lines, 12 bytes)\n  # Plan\n  \tone\n"},
		{"write_file", `{"path":"a","content":"x"}`, "path     a\ncontent  x\n"},
		{"edit_file", `{"path":"a.go","old":"one\ntwo\nthree","new":"one\n2\nthree\nfour"}`,
			"path  a.go\nold → new (-2 +3 lines, 13 → 16 bytes)\n    one\n  - two\n  - three\n  + 2\n  + three\n  + four\n"},
		{"edit_file", `{"path":"a.go","old":"one","new":""}`, "path  a.go\nold → new (-1 +0 lines, 3 → 0 bytes)\n  - one\n"},
		{"files_edit", `{"path":"a","edits":[{"oldText":"x\n","newText":"y\n"}],"dryRun":false}`,
			"path    a\ndryRun  false\nedits[0].oldText → newText (-1 +1 lines, 2 → 2 bytes)\n  - x\n  + y\n"},
		{"shell", `{"command":"go test ./...","timeout":30}`, "timeout  30\n$ go test ./...\n"},
		{"shell", `{"command":"cd x\nls \\\n  -l"}`, "$ cd x\n  ls \\\n    -l\n"},
		{"shell", `{"command":"ls \u202e"}`, "command  \"ls \\u202e\"\n"},
		{"editor", `{"command":"view"}`, "command  view\n"},
		{"pay", `{"amount":9007199254740993,"to":"kim","note":null,"id":"10","tags":["a", "b"]}`,
			"amount  9007199254740993\nto      kim\nnote    null\nid      \"10\"\ntags    [\"a\",\"b\"]\n"},
		{"pay", `{"a b":1,"a":{"b":"x\ny"}}`, "\"a b\"  1\na.b (2 lines, 3 bytes)\n  x\n  y\n"},
		{"pay", `{}`, "no arguments\n"},
		{"pay", `[1]`, "[0]  1\n"},
		{"pay", `not JSON`, "arguments (1 line, 8 bytes)\n  not JSON\n"},
		{"pay", `{"a":1} 2`, "arguments (1 line, 9 bytes)\n  {\"a\":1} 2\n"},
		{"pay", `{"n":1,"n":2}`, "n  1\nn  2\n"},
		{"x", `{"text":"a\u001b[2J\nb\\n"}`, "text (2 lines, 9 bytes; with escapes, \\\\ is a backslash)\n  a\\x1b[2J\n  b\\\\n\n"},
	} {
		require.Equal(t, c.want, Of(c.tool, c.arguments).String(), c.arguments)
	}
}

// Arguments that differ look different, also if they differ in characters that cannot be seen, in a line break at the end, or in the type of
// a value. What they look like does not control a terminal.
func TestAttackArgumentsThatDifferLookDifferent(t *testing.T) {
	t.Parallel()
	values := []string{
		"a b", "a  b", "a\u00a0b", "a\u2003b", "a\tb", "a\nb", "a\nb\n", "a\n\nb", "a\r\nb", "a\u200bb", "a\u202eb", "a\u2028b", "a\x00b",
		"a\u200d\u200db", `a\u202eb`, `a\x00b`, `a\nb`, "a\u202e\nb", `a\u202e` + "\nb", `a\\u202e` + "\nb", " a", "a ", "", "1", "null", `"1"`, `"a b"`, "a\n  b", "  a\nb",
		"a\nb\nn  1", "a\nn (1 line)", "\x1b[2J\n", "\u009b31m", "x\n  - y\n", "x\n- y\n",
		"\u202e x \\u202e\n", "\\u202e x \u202e\n",
	}
	seen := map[string]string{}
	see := func(tool, arguments string) {
		t.Helper()
		text := Of(tool, arguments).String()
		require.Equal(t, printable.Text(text), text)
		require.False(t, strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && r != '\n' && r != '\t' && unicode.IsSpace(r) }), "%q", text)
		require.Empty(t, seen[tool+text], "%s looks like %s: %q", arguments, seen[tool+text], text)
		seen[tool+text] = arguments
	}
	for _, v := range values {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		for _, form := range []string{`{"v":%s}`, `{"v":[%s]}`, `{"V":%s}`, `{"v":%s,"n":1}`, `{"old":"a\nb","new":%s}`, `{"old":%s,"new":"a\nb"}`} {
			if form == `{"old":%s,"new":"a\nb"}` && v == "a\nb" {
				continue // the form before it is the same
			}
			see("x", fmt.Sprintf(form, text))
		}
		see("shell", fmt.Sprintf(`{"command":%s}`, text))
	}
	for _, arguments := range []string{`{"v":1}`, `{"v":null}`, `{"v":[]}`, `{"v":{}}`, `{"v":1.0}`, `{}`, `[]`, `x`} {
		if arguments != `[]` { // both are no arguments
			see("x", arguments)
		}
	}
}

// The unchanged lines of an edit are folded, except for those next to a change. Everything else stays.
func TestFoldHidesUnchangedLines(t *testing.T) {
	t.Parallel()
	lines := func(from, to int) (text string) {
		for n := from; n <= to; n++ {
			text += fmt.Sprintln("line", n)
		}
		return text
	}
	edit := func(before, after string) string {
		arguments, err := json.Marshal(map[string]string{"path": "a", "old": before, "new": after})
		require.NoError(t, err)
		f := Of("edit_file", string(arguments))
		whole := f.String()
		folded := f.Fold("").String()
		require.Equal(t, whole, f.String(), "the form itself is not changed")
		return folded
	}
	indented := func(text string) string {
		return strings.ReplaceAll("    "+strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
	}
	got := edit(lines(1, 9)+"x\n"+lines(10, 20)+"y\n"+lines(21, 25), lines(1, 9)+"X\n"+lines(10, 20)+"Y\n"+lines(21, 25))
	require.Equal(t, "path  a\nold → new (-2 +2 lines, 195 → 195 bytes)\n  … 6 unchanged lines\n"+indented(lines(7, 9))+"  - x\n  + X\n"+indented(lines(10, 12))+
		"  … 5 unchanged lines\n"+indented(lines(18, 20))+"  - y\n  + Y\n"+indented(lines(21, 23))+"  … 2 unchanged lines\n", got)
	require.NotContains(t, edit(lines(1, 4)+"x\n"+lines(5, 11)+"y", lines(1, 4)+"X\n"+lines(5, 11)+"Y"), "unchanged", "one line is not folded")
	require.Contains(t, edit(lines(1, 9), lines(1, 9)), "bytes)\n  … 9 unchanged lines\n")
	f := Of("write_file", `{"content":"`+strings.Repeat(`line\n`, 50)+`"}`)
	require.Equal(t, f, f.Fold(""))
}

// A form that is cut says how much it leaves out. A form that fits is whole.
func TestCutSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	f := Of("write_file", `{"path":"a","content":"1\n22\n333\n4444"}`)
	whole, left := f.Cut(6, 100)
	require.Equal(t, f, whole)
	require.Empty(t, left)
	begin, left := f.Cut(4, 100)
	require.Equal(t, "path  a\ncontent (4 lines, 13 bytes)\n  1\n  22\n", begin.String())
	require.Equal(t, "2 lines with 7 characters", left)
	begin, left = Of("x", `{"to":"`+strings.Repeat("é", 50)+`"}`).Cut(5, 14)
	require.Equal(t, "to  "+strings.Repeat("é", 10)+"…\n", begin.String())
	require.Equal(t, "40 characters", left)
	begin, left = f.Cut(0, 0)
	require.Empty(t, begin)
	require.Equal(t, "6 lines with 30 characters", left)
}

func TestSummaryIsWhatACallDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"edit_file", `{"path":"notes.md","old":"one\ntwo","new":"one\n2"}`, "notes.md +1 -1"},
		{"write_file", `{"path":"notes.md","content":"one\ntwo\n"}`, "notes.md (2 lines)"},
		{"shell", `{"command":"go test ./...\nls"}`, "go test ./... ls"},
		{"pay", `{"amount": 10, "to": "kim"}`, `{"amount": 10, "to": "kim"}`},
		{"pay", "not\x1b JSON", `not\x1b JSON`},
		{"edit_file", `{"path":"` + strings.Repeat("long/", 20) + `a","old":"1","new":"2"}`, strings.Repeat("long/", 20)[:33] + "… +1 -1"},
	} {
		require.Equal(t, c.want, Summary(c.tool, c.arguments, 40), c.arguments)
	}
}

// However large the arguments are and however they are nested, their form is there at once.
func TestAttackFormIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	var old, changed, fields strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&old, "%d\\n%d a\\n", i, i%7)
		fmt.Fprintf(&changed, "%d\\n%d b\\n", i, i%5)
		fmt.Fprintf(&fields, `"f%d":%d,`, i, i)
	}
	began := time.Now()
	for _, arguments := range []string{
		`{"old":"` + old.String() + `","new":"` + changed.String() + `"}`,
		`{"content":"` + strings.Repeat(`x\n`, 300_000) + `"}`,
		`{` + fields.String() + `"last":"a\nb"}`,
		strings.Repeat(`{"a\n":[`, 4_000) + strings.Repeat(`]}`, 4_000),
		strings.Repeat(`[`, 100_000),
	} {
		require.NotEmpty(t, Of("edit_file", arguments))
		require.NotEmpty(t, Summary("edit_file", arguments, 100))
	}
	require.Less(t, time.Since(began), 20*time.Second)
}
