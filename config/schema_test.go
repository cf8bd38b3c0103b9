package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// resolved returns a validator for a copy of a schema.
func resolved(t *testing.T, s *jsonschema.Schema) *jsonschema.Resolved {
	v, err := s.CloneSchemas().Resolve(nil)
	require.NoError(t, err)
	return v
}

// value returns the value of a YAML text, as a JSON decoder would return it.
func value(t *testing.T, yaml string) any {
	top, p := document("agents.yaml", []byte(yaml))
	require.Nil(t, p, "%s", yaml)
	r := &reader{source: source{lines: map[string]int{}}, failed: map[string]bool{}}
	dec := json.NewDecoder(strings.NewReader(r.json(place{node: top})))
	var v any
	require.NoError(t, dec.Decode(&v), "%s", yaml)
	return v
}

// Editors may use the stored schema as it is. A change of the schema changes a file that a reviewer sees.
func TestSchemaIsStored(t *testing.T) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(Schema()))
	const golden = "testdata/schema.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, text.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, string(want), text.String(), "run the test with -update if this is meant")
}

// eachField calls `visit` for every field of every mapping in a schema. Of a mapping with any names, the name is x.
func eachField(s *jsonschema.Schema, path []string, visit func(path []string, owner, s *jsonschema.Schema)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, at := s.Properties[name], append(slices.Clone(path), name)
		visit(at, s, field)
		eachField(field, at, visit)
	}
	if each := s.AdditionalProperties; each != nil && each.Not == nil {
		at := append(slices.Clone(path), "x")
		visit(at, nil, each)
		eachField(each, at, visit)
	}
}

// file returns a configuration with one value at a path.
func file(path []string, value string) string {
	return strings.Join(path, ": {") + ": " + value + strings.Repeat("}", len(path)-1)
}

// problemsAt returns the problems of a file in the value at a path.
func problemsAt(file string, path []string) (found []string) {
	_, err := Parse("agents.yaml", []byte(file))
	if all, ok := err.(*Error); ok { //nolint:errorlint // Parse wraps no errors
		for _, p := range all.Problems {
			if rest, ok := strings.CutPrefix(p.Field, strings.Join(path, ".")); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
				found = append(found, p.Message)
			}
		}
	}
	return found
}

func TestEveryFieldIsDescribed(t *testing.T) {
	fields := 0
	eachField(Schema(), nil, func(path []string, owner, s *jsonschema.Schema) {
		if owner == nil {
			return
		}
		fields++
		require.Regexp(t, `^[A-Z].*\.$`, s.Description, "%v", path)
		require.Empty(t, problemsOfKind(file(path, "x"), "unknown key"), "the reader knows the field")
	})
	require.Greater(t, fields, 90)
}

func problemsOfKind(file, kind string) (found []string) {
	_, err := Parse("agents.yaml", []byte(file))
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, kind) {
			found = append(found, line)
		}
	}
	return found
}

// probes are values of all kinds, for every field.
var probes = []string{
	"true", "yes", "0", "1", "-1", "3", "1.5", "0.00001", "2000", "99999999999", "text", "''", "'5'", "5m", "1.5h30m", "0s", "-5m", "1d", "never", "1h", "auto", "openai",
	"bedrock", "destructive", "a b", "2024-01-01", "https://example.com/a", "HTTP://example.com", "ftp://example.com", "${NAME}", "'$${NAME}'", "'${file:a}'", "'${'",
	"127.0.0.1:80", "testdata/valid/prompts/researcher.md", "[]", "[a]", "[1]", "[''", "[waits]", "[[a]]", "[{}]", "{}", "{a: b}", "{a: 1}", "{a: {}}", "{a b: c}", "{type: object}", "{command: [a]}",
	"{url: 'https://example.com'}", "{command: [a], url: 'https://example.com'}", "{model: m}", "{model: 1}", "{messages: []}", "{send: turn}", "{input: 1}", "{unknown: 1}",
	"{default: always}", "{default: Always}", "{url: 'https://example.com', secret: '${A}'}",
}

// An editor must not mark what a worker reads. And it marks each value of a wrong kind, and each unknown key: what only the worker refuses
// is a matter of its finer rules.
func TestSchemaTakesWhatTheReaderTakes(t *testing.T) {
	t.Setenv(BaseURLEnv, "")
	kind := regexp.MustCompile(`must be (a text|a list|a mapping|a number|a whole number|true or false|a JSON schema)|unknown key|is not the name of|not a duration|; write never|must be (between|at least)|cannot be set`)
	eachField(Schema(), nil, func(path []string, _, s *jsonschema.Schema) {
		schema := resolved(t, s)
		for _, probe := range probes {
			text := file(path, probe)
			if _, p := document("agents.yaml", []byte(text)); p != nil {
				continue
			}
			v := value(t, file(path, probe))
			for _, key := range path {
				v = v.(map[string]any)[key]
			}
			read, drawn := problemsAt(text, path), schema.Validate(v)
			if len(read) == 0 {
				require.NoError(t, drawn, "the reader takes %s", text)
			} else if drawn == nil {
				require.NotRegexp(t, kind, read, "only the reader refuses %s", text)
			}
		}
	})
}

// What the schema calls required, the reader misses.
func TestWhatTheSchemaRequiresIsMissed(t *testing.T) {
	required := 0
	eachField(Schema(), nil, func(path []string, _, s *jsonschema.Schema) {
		for _, key := range s.Required {
			required++
			require.NotEmpty(t, problemsAt(file(path, "{}"), append(slices.Clone(path), key)), "%v", path)
		}
		if len(s.OneOf) > 0 {
			required++
			require.NotEmpty(t, problemsAt(file(path, "{}"), path), "%v", path)
		}
	})
	require.Equal(t, 17, required)
	require.NotEmpty(t, problemsAt("task_queue: x", []string{"agents"}))
	require.Equal(t, []string{"agents"}, Schema().Required)
}

func TestValidFilesFitTheSchema(t *testing.T) {
	schema := resolved(t, Schema())
	files := 0
	for _, pattern := range []string{"testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			if _, err := Parse(file, data); err == nil {
				files++
				require.NoError(t, schema.Validate(value(t, string(data))), file)
			}
		}
	}
	require.GreaterOrEqual(t, files, 3)
}

// The blocks of the documents show parts of a configuration, in which what is required may be missing.
func TestBlocksOfDocumentsFitTheSchema(t *testing.T) {
	part := Schema()
	part.Required = nil
	eachField(part, nil, func(_ []string, _, s *jsonschema.Schema) { s.Required, s.OneOf = nil, nil })
	schema := resolved(t, part)
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	blocks := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?ms)^ *```yaml([^\n]*)\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "/") {
				continue // a file of another program
			}
			blocks++
			require.NoError(t, schema.Validate(value(t, m[2])), "%s:\n%s", page, m[2])
		}
	}
	require.Greater(t, blocks, 20)
}

// The mistakes in the form of a file are those that an editor shows, too.
func TestInvalidFilesDoNotFitTheSchema(t *testing.T) {
	schema := resolved(t, Schema())
	for _, name := range []string{
		"builtin", "callbacks", "callbacks_missing", "cost", "external", "mcp_servers", "money", "no_agents", "notify", "shell_text",
		"shell_values", "types", "unknown_keys", "wrong_top", "approval", "callbacks_empty", "shell_empty",
	} {
		data, err := os.ReadFile("testdata/invalid/" + name + ".yaml")
		require.NoError(t, err)
		require.Error(t, schema.Validate(value(t, string(data))), name)
	}
}
