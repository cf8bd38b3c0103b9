package object

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fields calls `see` for each field of a type and of the types in it, with the type that has the field and the name in JSON.
func fields(t *testing.T, typ reflect.Type, see func(owner reflect.Type, f reflect.StructField, name string)) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		fields(t, typ.Elem(), see)
	case reflect.Struct:
		if typ == reflect.TypeFor[Time]() {
			return
		}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				fields(t, f.Type, see)
				continue
			}
			require.NotEmpty(t, name, "%s.%s has no name", typ, f.Name)
			see(typ, f, name)
			fields(t, f.Type, see)
		}
	}
}

// twice are the types whose values stand next to each other, so that they need two names.
var twice = map[reflect.Type][]string{
	reflect.TypeFor[Side]():      {"a", "b"},
	reflect.TypeFor[[]Problem](): {"problems", "unchecked"},
	reflect.TypeFor[Effects]():   {"measure", "publish"},
}

// retired maps names that objects had in earlier versions to the names of the same things. They do not come back.
var retired = map[string]string{
	"agent_id": "id", "for": "waits_for", "state": "waits_for", "call": "handle", "name": "handle", "tool_calls": "", "tool_call_id": "call_id",
	"result": "answer", "reply": "answer", "text": "content", "pending": "open_calls", "children": "sub_agents", "tree": "spent", "run": "run_id",
	"failure": "error", "what": "operation", "model_name": "model", "again": "repeated", "first_message_seconds": "first_message_ms",
}

// One name means one thing, and one thing has one name: a name has one Go type everywhere, and each type that this project declares has one
// name. Times are texts and durations are milliseconds, and both can be told from their names.
func TestNamesMeanOneThing(t *testing.T) {
	types, names := map[string]reflect.Type{}, map[reflect.Type][]string{}
	for _, o := range examples() {
		fields(t, reflect.TypeOf(o), func(owner reflect.Type, f reflect.StructField, name string) {
			typ := f.Type
			if typ.Kind() == reflect.Pointer {
				typ = typ.Elem()
			}
			at := owner.String() + "." + f.Name
			require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, name, at)
			require.NotEqual(t, "type", name, at)
			if known, ok := types[name]; ok {
				require.Equal(t, known, typ, "%s: %q has another type elsewhere", at, name)
			}
			types[name] = typ
			if better := retired[name]; better != "" {
				require.Fail(t, "an earlier name", "%s: %q is now %q", at, name, better)
			}
			require.NotContains(t, []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](), reflect.TypeFor[int64]()}, typ, at)
			require.Equal(t, typ == reflect.TypeFor[Milliseconds](), strings.HasSuffix(name, "_ms"), at)
			declared := typ
			if typ.Kind() == reflect.Slice {
				declared = typ.Elem()
			}
			if declared.PkgPath() != "" && typ != reflect.TypeFor[Time]() && typ != reflect.TypeFor[Milliseconds]() && !slices.Contains(names[typ], name) {
				names[typ] = append(names[typ], name)
			}
		})
	}
	for typ, all := range names {
		if slices.Sort(all); len(all) > 1 {
			require.Equal(t, twice[typ], all, "%s has several names", typ)
		}
	}
}

const page = "../../../docs/json.md"

// table returns the rows of the table of the page whose first column has the given head. The backticks around the first column are removed.
func table(t *testing.T, head string) (rows [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n| "+head+" | ")
	require.True(t, found, head)
	for line := range strings.Lines(rest) {
		if line == "\n" {
			break
		}
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); strings.HasPrefix(line, "| `") {
			require.Len(t, cells, 2, line)
			rows = append(rows, [2]string{strings.Trim(cells[0], "`"), cells[1]})
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// The page has the meaning of each name, once and in alphabetical order, and no name that no object has.
func TestEveryNameHasItsMeaning(t *testing.T) {
	used := map[string]bool{"type": true}
	for _, o := range examples() {
		fields(t, reflect.TypeOf(o), func(_ reflect.Type, _ reflect.StructField, name string) { used[name] = true })
	}
	meanings := map[string]string{}
	var told []string
	for _, row := range table(t, "name") {
		for name := range strings.SplitSeq(row[0], "`, `") {
			told = append(told, name)
		}
		require.Empty(t, meanings[row[1]], "%s means the same as %s", row[0], meanings[row[1]])
		meanings[row[1]] = row[0]
	}
	require.Equal(t, slices.Sorted(maps.Keys(used)), told)
}

var update = flag.Bool("update", false, "write the example of each type into testdata")

// Each type of object has an example, each field of it has a value in an example, and the stored examples are what programs read.
func TestObjectsAreAsStored(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var declared []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "kind" {
				declared = append(declared, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	var shown []string
	missing := map[string]bool{}
	for _, o := range examples() {
		shown = append(shown, reflect.TypeOf(o).Name())
		fields(t, reflect.TypeOf(o), func(owner reflect.Type, f reflect.StructField, _ string) { missing[owner.Name()+"."+f.Name] = true })
	}
	require.ElementsMatch(t, declared, shown)
	for _, o := range examples() {
		filled(reflect.ValueOf(o), missing)
		var line strings.Builder
		require.NoError(t, Print(&line, o))
		require.Equal(t, 1, strings.Count(line.String(), "\n"))
		golden := filepath.Join("testdata", o.kind()+".json")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(line.String()), 0o644))
		}
		stored, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(stored), line.String(), "if the change is wanted, store it with -update")
		for _, at := range regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`).FindAllString(line.String(), -1) {
			require.Regexp(t, `^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"$`, at)
		}
	}
	require.Empty(t, slices.Sorted(maps.Keys(missing)), "no example has a value for these fields")
	stored, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, stored, len(shown), "an example of a type that there is no more")
}

// filled removes the fields that have a value from `missing`.
func filled(v reflect.Value, missing map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			filled(v.Elem(), missing)
		}
	case reflect.Slice:
		for i := range v.Len() {
			filled(v.Index(i), missing)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Time]() {
			return
		}
		for f := range v.Type().Fields() {
			one := v.FieldByIndex(f.Index)
			if !one.IsZero() {
				delete(missing, v.Type().Name()+"."+f.Name)
			}
			filled(one, missing)
		}
	}
}

// The page says which types each command prints.
func TestEveryTypeIsPrintedByACommand(t *testing.T) {
	var kinds, told []string
	for _, o := range examples() {
		kinds = append(kinds, o.kind())
	}
	for _, row := range table(t, "command") {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(told, m[1]) {
				told = append(told, m[1])
			}
		}
	}
	told = append(told, "error") // any command prints it
	require.ElementsMatch(t, kinds, told)
}

var recipe = regexp.MustCompile(`(?m)^starter (\w+).*(\| jq .*)$`)

// The commands with jq on the pages find something in what the commands print.
func TestRecipesFindWhatTheyLookFor(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq on this machine")
	}
	prints := map[string]string{}
	for _, row := range table(t, "command") {
		for command := range strings.SplitSeq(row[0], "`, `") {
			prints[command] = row[1]
		}
	}
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	ran := 0
	for _, page := range pages {
		if filepath.Base(page) == "runbook.md" {
			continue // e2e/runbook runs its commands
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range recipe.FindAllStringSubmatch(string(text), -1) {
			var input strings.Builder
			for _, kind := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(prints[m[1]], -1) {
				line, err := os.ReadFile(filepath.Join("testdata", kind[1]+".json"))
				require.NoError(t, err, m[0])
				input.Write(line)
			}
			cmd := exec.Command("sh", "-c", "cat "+m[2])
			cmd.Stdin = strings.NewReader(input.String())
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s: %s", page, m[0], out)
			require.NotEmpty(t, strings.TrimSpace(strings.ReplaceAll(string(out), "null", "")), "%s: %s finds nothing", page, m[0])
			ran++
		}
	}
	require.NotZero(t, ran)
}
