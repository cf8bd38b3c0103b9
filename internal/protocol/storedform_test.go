package protocol_test

import (
	"cmp"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

var update = flag.Bool("update", false, "write docs/stored-form.md")

const storedFormPage = "../../docs/stored-form.md"

// docs/stored-form.md lists what Temporal stores of agents. A renamed field, a lost omitzero or a new type changes the page, so a review sees it.
func TestStoredFormIsTheOneInTheDocumentation(t *testing.T) {
	page := storedForm(t)
	if *update {
		require.NoError(t, os.WriteFile(storedFormPage, []byte(page), 0o600))
	}
	text, err := os.ReadFile(storedFormPage)
	require.NoError(t, err)
	require.True(t, page == string(text), "a stored form has changed: see CONTRIBUTING.md; if this is meant, run the test with -update, and read the difference")
}

// The JSON name of a field is its name in Go, in lower case and with underscores.
func TestStoredNamesAreThoseOfTheFields(t *testing.T) {
	for _, typ := range storedTypes(t) {
		for _, f := range storedFields(typ) {
			require.Equal(t, snake(f.Name), f.json, "%s.%s", typ, f.Name)
		}
	}
}

// stored is a value in Temporal and the Go type of its JSON.
type stored struct {
	where string
	value any
}

// storedRoots are all values that an agent stores. Queries are not among them: Temporal stores neither their arguments nor their results.
var storedRoots = []struct {
	title, note string
	values      []stored
}{
	{"The workflow `Agent`", "", []stored{
		{"input", agent.Start{}}, {"result", protocol.Result{}}, {"details of the error of an agent that has failed or was cancelled", agent.Spending{}},
		{"`Start.State`, compressed if it is long, and the pages of `ReadAgent`, always compressed: the JSON of", agent.State{}},
	}},
	{"Activities", "The ID of an activity is a key: see [design.md](design.md), section 4.", []stored{
		{"`LoadAgent`: input", protocol.LoadAgentInput{}}, {"`LoadAgent`: result", agent.Definition{}},
		{"`ResolveOverrides`: input", protocol.ResolveOverridesInput{}}, {"`ResolveOverrides`: result", agent.TurnDefinition{}},
		{"`CallModel`: input", protocol.CallModelInput{}}, {"`CallModel`: result", protocol.ModelResult{}},
		{"`CallTool`: input", protocol.CallToolInput{}}, {"`CallTool`: result", protocol.ToolResult{}},
		{"`CheckText`: input", protocol.CheckTextInput{}}, {"`CheckText`: result", protocol.CheckedText{}},
		{"`AwaitAgent`: input", protocol.AwaitAgentInput{}}, {"`AwaitAgent`: result", protocol.AgentEnd{}},
		{"`ReadAgent`: input", protocol.ReadAgentInput{}}, {"`ReadAgent`: result", protocol.Page{}},
		{"`ReadProgress`: input", protocol.ReadProgressInput{}}, {"`ReadProgress`: result", protocol.AgentProgress{}},
		{"`FindMessages`: input", protocol.FindMessagesInput{}}, {"`FindMessages`: result", protocol.FoundMessages{}},
		{"`FindCall`: input", protocol.FindCallInput{}}, {"`FindCall`: result", protocol.FoundCall{}},
		{"`Notify`: input", protocol.NotifyInput{}},
	}},
	{"Heartbeats", "", []stored{
		{"`CallModel`, `CallTool`, `CheckText`, `LoadAgent`, `ResolveOverrides`, `ReadAgent`, `FindMessages`, `FindCall`", protocol.Progress{}},
		{"`AwaitAgent`: the ID of the sub-agent's run", ""},
	}},
	{"Updates and signals", "", []stored{
		{"`message`: argument", agent.QueuedMessage{}}, {"`message`: result", protocol.Accepted{}}, {"`decide`: argument", agent.Decision{}},
		{"`revoke`: argument", agent.Key("")}, {"`interrupt`: argument", agent.Interrupt{}}, {"`aside`: argument", agent.Aside{}}, {"`aside`: result", ""},
		{"`reload`, `resume-lost`: argument, an ID", ""}, {"`partial-text`: argument, in milliseconds", int64(0)}, {"`child-end`: argument", protocol.ChildEnd{}},
	}},
}

func storedForm(t *testing.T) string {
	comments := storedComments(t)
	var b strings.Builder
	b.WriteString("# What Temporal stores of agents\n\n" +
		"This page is generated from the code: `go test ./internal/protocol -run TestStoredForm -update`. It lists the JSON of everything that histories, memos,\n" +
		"search attributes and heartbeats contain. [CONTRIBUTING.md](../CONTRIBUTING.md) says how to change it.\n\n" +
		"A field with \"–\" is left out of the JSON if it is zero. A field of another type's name in *italics* has the fields of that type beside its own.\n")
	for _, root := range storedRoots {
		fmt.Fprintf(&b, "\n## %s\n\n", root.title)
		if root.note != "" {
			b.WriteString(root.note + "\n\n")
		}
		b.WriteString("| what | type |\n|---|---|\n")
		for _, v := range root.values {
			fmt.Fprintf(&b, "| %s | %s |\n", v.where, typeText(reflect.TypeOf(v.value)))
		}
	}
	b.WriteString("\n## Memo and search attributes\n\n| memo field | value |\n|---|---|\n")
	for _, name := range []string{protocol.MemoAgent, protocol.MemoIncarnation, protocol.MemoTask, protocol.MemoKey} {
		fmt.Fprintf(&b, "| `%s` | string |\n", name)
	}
	b.WriteString("\n| search attribute | type |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(protocol.AttributeTypes())) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, protocol.AttributeTypes()[name])
	}
	b.WriteString("\n## Types\n")
	for _, typ := range storedTypes(t) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", typ, lead(comments[typ.String()]))
		if typ.Kind() != reflect.Struct {
			if values := comments[typ.String()+" values"]; values != "" {
				fmt.Fprintf(&b, "\nValues: %s\n", values)
			}
			continue
		}
		b.WriteString("\n| field | type | | |\n|---|---|---|---|\n")
		for f := range typ.Fields() {
			if f.Anonymous && f.Tag.Get("json") == "" {
				fmt.Fprintf(&b, "| *%s* | %s | | |\n", f.Name, typeText(f.Type))
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" {
				continue
			}
			omitted := ""
			if strings.HasPrefix(options, "omit") {
				omitted = "–"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, typeText(f.Type), omitted, lead(comments[typ.String()+"."+f.Name]))
		}
	}
	return b.String()
}

// storedTypes returns the named types of this module in the stored values, sorted by name.
func storedTypes(t *testing.T) []reflect.Type {
	all := map[string]reflect.Type{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(typ.Elem())
			return
		case reflect.Map:
			walk(typ.Key())
			walk(typ.Elem())
			return
		}
		if _, known := all[typ.String()]; known || !strings.Contains(typ.PkgPath(), "reagent/") {
			return
		}
		all[typ.String()] = typ
		if typ.Kind() != reflect.Struct {
			return
		}
		marshals := typ.Implements(reflect.TypeFor[json.Marshaler]()) || typ.Implements(reflect.TypeFor[encoding.TextMarshaler]())
		require.True(t, !marshals || typ == reflect.TypeFor[agent.Start](), "%s writes its JSON itself", typ)
		for f := range typ.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				walk(f.Type)
			}
		}
	}
	for _, root := range storedRoots {
		for _, v := range root.values {
			walk(reflect.TypeOf(v.value))
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) })
}

type storedField struct {
	reflect.StructField
	json string
}

func storedFields(typ reflect.Type) []storedField {
	var fields []storedField
	for i := 0; typ.Kind() == reflect.Struct && i < typ.NumField(); i++ {
		f := typ.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && !f.Anonymous && name != "-" {
			fields = append(fields, storedField{f, name})
		}
	}
	return fields
}

func typeText(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return "JSON"
	case typ == reflect.TypeFor[agent.PackedState]():
		return "JSON, or base64"
	case typ == reflect.TypeFor[[]byte]():
		return "base64"
	case typ.Kind() == reflect.Pointer:
		return typeText(typ.Elem())
	case typ.Kind() == reflect.Slice:
		return "list of " + typeText(typ.Elem())
	case typ.Kind() == reflect.Map:
		return "map from " + typeText(typ.Key()) + " to " + typeText(typ.Elem())
	case strings.Contains(typ.PkgPath(), "reagent/"):
		return fmt.Sprintf("[%s](#%s)", typ, strings.ReplaceAll(strings.ToLower(typ.String()), ".", ""))
	}
	return typ.String()
}

// snake returns the JSON name of a field: "MaxDepth" is "max_depth", "BaseRunID" is "base_run_id".
func snake(name string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(name, "IDs", "Ids"))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// lead returns the first sentence of a comment, for a cell of a table.
func lead(comment string) string {
	text := new(doc.Package).Synopsis(comment)
	return strings.NewReplacer("[", "", "]", "", "|", "\\|", "<", "&lt;").Replace(text)
}

// storedComments returns the comments of the types, such as "agent.Call", and of their fields, such as "agent.Call.Key". For a type with
// constants, it also returns their values, under a name such as "agent.Mode values".
func storedComments(t *testing.T) map[string]string {
	comments := map[string]string{}
	for _, folder := range []string{"../../agent", "../../llm", "."} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				group, ok := n.(*ast.GenDecl)
				if !ok || group.Tok == token.IMPORT {
					return true
				}
				for _, spec := range group.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok && group.Tok == token.CONST {
						addValues(comments, parsed.Name.Name, value)
					}
				}
				if group.Tok != token.TYPE {
					return true
				}
				for _, spec := range group.Specs {
					typ := spec.(*ast.TypeSpec)
					name := parsed.Name.Name + "." + typ.Name.Name
					comments[name] = cmp.Or(typ.Doc.Text(), group.Doc.Text())
					fields, ok := typ.Type.(*ast.StructType)
					for i := 0; ok && i < len(fields.Fields.List); i++ {
						for _, id := range fields.Fields.List[i].Names {
							comments[name+"."+id.Name] = cmp.Or(fields.Fields.List[i].Doc.Text(), fields.Fields.List[i].Comment.Text())
						}
					}
				}
				return true
			})
		}
	}
	return comments
}

func addValues(comments map[string]string, pkg string, spec *ast.ValueSpec) {
	typ, named := spec.Type.(*ast.Ident)
	if !named {
		return
	}
	for _, v := range spec.Values {
		if text, ok := v.(*ast.BasicLit); ok && text.Kind == token.STRING {
			name := pkg + "." + typ.Name + " values"
			comments[name] = strings.TrimPrefix(comments[name]+", `"+text.Value+"`", ", ")
		}
	}
}
