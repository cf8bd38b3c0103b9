package telemetry

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables of docs/telemetry.md have each name of conventions.go and each metric, and no other. They say of a metric what is true.
func TestPageHasAllNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	page := string(text)
	require.Contains(t, page, "version "+Conventions+",")

	want := map[string]string{}
	labels := map[string]bool{}
	for _, m := range Metrics() {
		want[m.Name] = fmt.Sprintf("| `%s` | %s | `%s` | `%s` |", m.Name, m.Kind, m.Unit, strings.Join(m.Labels, "`, `"))
		for _, label := range m.Labels {
			labels[label] = true
		}
	}
	for name, row := range want {
		require.Contains(t, page, row+"\n", name)
	}
	known := constants(t)
	for label := range labels {
		require.Contains(t, known, label)
		want[label] = ""
	}
	for name := range known {
		want[name] = ""
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:gen_ai|reagent|error|server)\\.[a-z_.]+)` \\|").FindAllStringSubmatch(page, -1) {
		documented[m[1]] = true
	}
	for name := range want {
		require.Contains(t, documented, name, "docs/telemetry.md lacks it")
	}
	for name := range documented {
		require.Contains(t, want, name, "docs/telemetry.md has it, and the code does not")
	}
	for _, e := range []Event{Recalled, Reattached, Unanswered, Repaired, RepairedReplies, EmptyReplies, Compactions, Interrupted} {
		require.Contains(t, page, "`"+string(e)+"`")
	}
}

// constants returns the names of attributes in conventions.go.
func constants(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "conventions.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			if regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`).MatchString(value) {
				found[value] = true
			}
		}
		return true
	})
	require.Greater(t, len(found), 30)
	return found
}
