package shellword_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// hostile are texts that a shell, starter or a page of the Web UI would read in another way than as one word.
var hostile = []string{
	"", " ", "-", "--", "--all", "-h", "-rf", "--call=x", "$(touch x)", "`touch x`", "$HOME", "${IFS}", "a b", "a  b", " a", "a ", "it's", `"`, `\`, `\n`, `a\0101b`,
	"a\nb", "\na", "a\tb", "a\r\nb", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "a\u0085b", "a\u00a0b", "a\u202eb", "a\u200bb", "a\u2028b", "\ufeffa", "ü", "日本", "k\u0301",
	"a;touch x", "a&&b", "a|b", "a>x", "<x", "*", "?", "[a]", "{a,b}", "~", "~root", "#", "a#b", "!", "!!", "a!b\n!", "=ls", "a=b", "%s", "%n%s\nx", "%b\x01", "\xff\xfe", "'", "''", "\n'",
	"$'x'", "\\'", "a\\", "a\\\nb", "`\n`", "(a)", "^a^b", "\u00e9\n\x01", strings.Repeat("x", 1000), strings.Repeat("'\n ", 100) + ".",
}

// read returns the words that a POSIX shell reads in a command line of starter.
func read(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `starter() { printf '%s\0' "$@"; }`+"\n"+line)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
	made, err := filepath.Glob(filepath.Join(cmd.Dir, "*"))
	require.NoError(t, err)
	require.Empty(t, made, line)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestAttackAnyTextIsOneWord(t *testing.T) {
	for _, text := range hostile {
		word := shellword.Quote(text)
		require.Equal(t, []string{"show", text}, read(t, "starter show "+word), word)
		require.Equal(t, []string{"show", "a" + text + "b", "TEXT"}, read(t, shellword.Starter("show", "a"+text+"b").Then("TEXT").String()))
	}
}

// A command can be printed on a terminal and in Markdown as it is.
func TestAttackCommandStaysOnItsLine(t *testing.T) {
	for _, text := range hostile {
		line := shellword.Starter("show", text).With("--json").String()
		require.Equal(t, line, printable.Text(line))
		require.NotRegexp(t, "[`\\n\\t\\r]|  ", line)
	}
}

func TestAttackArgumentIsNoFlag(t *testing.T) {
	for _, text := range hostile {
		words := read(t, shellword.Starter("answer", text, "3f2a").With("--call x").Then("TEXT").String())
		if strings.HasPrefix(text, "-") {
			require.Equal(t, []string{"answer", "--call", "x", "--", text, "3f2a", "TEXT"}, words)
		} else {
			require.Equal(t, []string{"answer", text, "3f2a", "--call", "x", "TEXT"}, words)
		}
	}
}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9.*\[\]]*[a-zA-Z]`)

// built matches a command of starter with a part that is not constant, which [flat] writes as \x00, or a command that ends where a part
// follows.
var built = regexp.MustCompile("starter ([a-z-]+ )*([^`\"'.,;:\\n]* )?\x00|(^|[ `])starter ([a-z-]+ )*$")

// flat returns the text of a string expression. It has \x00 for each part that is not constant.
func flat(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return verb.ReplaceAllString(text, "\x00")
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return flat(e.X) + flat(e.Y)
		}
	case *ast.ParenExpr:
		return flat(e.X)
	}
	return "\x00"
}

// No other code builds a command of starter, because it would forget to quote one day.
func TestCommandsAreMadeHereAlone(t *testing.T) {
	for _, source := range []string{"\"run `starter reload %s`\"", "`starter answer ` + id", `"starter " + verb`, `"  starter deny %s --reason '…'"`, `"starter fork " + id + " --message x"`, `"starter send"+" "+id`} {
		require.Regexp(t, built, flat(parse(t, source)), source)
	}
	for _, source := range []string{"\"see `starter inbox`; agent %s\"", `"starter: %s"`, "\"`starter list` shows %d agents\"", `"starter show talk"`} {
		require.NotRegexp(t, built, flat(parse(t, source)), source)
	}
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.ToSlash(path), "../../e2e/") ||
			filepath.Base(path) == "shellword.go" {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			_, literal := n.(*ast.BasicLit)
			_, sum := n.(*ast.BinaryExpr)
			if !literal && !sum {
				return true
			}
			if text := flat(e); built.MatchString(text) {
				t.Errorf("%s: make this command with shellword.Starter: %q", set.Position(e.Pos()), text)
			}
			return !sum || e.(*ast.BinaryExpr).Op != token.ADD
		})
		return nil
	}))
	require.Greater(t, files, 300)
}

func parse(t *testing.T, source string) ast.Expr {
	t.Helper()
	e, err := parser.ParseExpr(source)
	require.NoError(t, err)
	return e
}
