package exact_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/exact"
)

type inner struct {
	Link string `json:"link,omitempty"`
}

type Base struct {
	Kind string `json:"kind"`
}

type outer struct {
	Base

	Task   string           `json:"task"`
	Plain  int              // no tag
	Hidden string           `json:"-"`
	In     *inner           `json:"in"`
	List   []inner          `json:"list"`
	Named  map[string]inner `json:"named"`
	When   *time.Time       `json:"when"`
	Raw    json.RawMessage  `json:"raw"`
	Any    any              `json:"any"`
}

// Each text is decoded in each mode. "" stands for the result of encoding/json.
func TestNamesAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{
		`{"task":"a","Plain":1,"kind":"k","in":{"link":"l"},"list":[{"link":"m"},null],"named":{"x":{"link":"n"},"X":{}},"any":{"TASK":1,"task":2}}`: {},
		`{"raw":{"link":1,"LINK":2},"when":"2026-01-02T03:04:05Z","task":"\u017f"}`:                                                                  {},
		`null`:                            {},
		`{"task":null,"in":null}`:         {},
		`{"TASK":"b"}`:                    {`unknown field "TASK": the name is "task"`, `unknown field "TASK": the name is "task"`, "{}"},
		`{"task":"a","ta\u017fk":"b"}`:    {`unknown field "taſk": the name is "task"`, `unknown field "taſk": the name is "task"`, `{"task":"a"}`},
		`{"task":"a","Ta\u0073\u212a":1}`: {`the name is "task"`, `the name is "task"`, `{"task":"a"}`},
		`{"plain":1}`:                     {`the name is "Plain"`, `the name is "Plain"`, "{}"},
		`{"KIND":"b"}`:                    {`the name is "kind"`, `the name is "kind"`, "{}"},
		`{"in":{"lin\u212a":"b"}}`:        {`the name is "link"`, `the name is "link"`, `{"in":{}}`},
		`{"list":[{},{"LINK":"b"}]}`:      {`the name is "link"`, `the name is "link"`, `{"list":[{},{}]}`},
		`{"named":{"A":{"LINK":"b"}}}`:    {`the name is "link"`, `the name is "link"`, `{"named":{"A":{}}}`},
		`{"task":"a","task":"b"}`:         {`the field "task" is given twice`, `the field "task" is given twice`, `{"task":"b"}`},
		`{"more":1,"Hidden":"x"}`:         {`unknown field "more"`, "{}", "{}"},
		`{"task":1}`:                      {"cannot unmarshal number", "cannot unmarshal number", "cannot unmarshal number"},
		`{"in":[]}`:                       {"cannot unmarshal array", "cannot unmarshal array", "cannot unmarshal array"},
		`{"task":"a"`:                     {"EOF", "EOF", "EOF"},
		``:                                {"EOF", "EOF", "EOF"},
		`{"task":"a"} {}`:                 {"more than one JSON value", "more than one JSON value", "more than one JSON value"},
	} {
		for i, mode := range []exact.Mode{0, exact.Open, exact.Foreign} {
			var got, wanted outer
			err := exact.Decode([]byte(text), &got, mode)
			reference := want[i]
			if reference == "" {
				reference = text
			}
			if !json.Valid([]byte(reference)) {
				require.ErrorContains(t, err, reference, "%s %d", text, mode)
				continue
			}
			require.NoError(t, err, "%s %d", text, mode)
			require.NoError(t, json.Unmarshal([]byte(reference), &wanted))
			require.Equal(t, wanted, got, "%s %d", text, mode)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	var got outer
	require.NoError(t, exact.Decode([]byte(`{"any":9007199254740993}`), &got, exact.Numbers))
	require.Equal(t, json.Number("9007199254740993"), got.Any)
	require.NoError(t, exact.Decode([]byte(`{"any":1}`), &got, 0))
	require.InEpsilon(t, 1.0, got.Any, 0)
}

// decodes has the functions that decode JSON without this package, in the packages that JSON of models, tools and senders reaches, and why
// they may.
var decodes = map[string]string{
	"attempt.kept.get":                "the store of this project",
	"agent.PackedState.UnmarshalJSON": "a history",
	"agent.Start.UnmarshalJSON":       "a history",
	"callback.decode":                 "a text and a boolean, of members with exact names",
	"activities.answered":             "the state that this package wrote into a question",
	"mcp.addAnswer":                   "the state that this package wrote into a question",
	"mcp.listed.spec":                 "a map",
	"mcp.asked.response":              "a map",
	"tool.Spec.validate":              "a map",
	"tool.decode":                     "a value of the type any, for the validator",
	"tool.compile":                    "a schema, whose type decodes itself",
	"chat.OpenHistory":                "texts that the chat wrote",
}

// JSON from outside is decoded into structs by this package alone. A function that needs encoding/json has to say why.
func TestJSONFromOutsideIsReadHereAlone(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	files := 0
	for _, folder := range []string{".", "activities", "agent", "callback", "client", "cmd", "tool"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && folder == "." && path != "../..":
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files++
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Unmarshal" || s.Sel.Name == "NewDecoder") {
						if x, ok := s.X.(*ast.Ident); ok && x.Name == "json" {
							found[name(file, f)] = true
						}
					}
					return true
				})
			}
			return nil
		}))
	}
	require.Greater(t, files, 150)
	for f := range found {
		require.Contains(t, decodes, f, "decode with package exact, or say here why not")
	}
	for f := range decodes {
		require.Contains(t, found, f, "it decodes nothing any more")
	}
}

func name(file *ast.File, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return fmt.Sprintf("%s.%s", file.Name, f.Name)
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	return fmt.Sprintf("%s.%v.%s", file.Name, t, f.Name)
}
