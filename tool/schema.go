package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/jsonwords"
)

const (
	// maxSchemas limits the number of compiled schemas in the cache. Without a limit the cache could grow forever: workers
	// list the tools of a server again and again, and a server may describe a tool differently each time.
	maxSchemas = 1000
	// maxSchemaBytes and maxSchemaDepth limit the length and the nesting of the JSON text of a schema.
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 100
	// maxInPlace limits the number of subschemas against which the same value is checked.
	maxInPlace = 10_000
	// maxPatternSize limits the number of instructions of one compiled regular expression.
	maxPatternSize = 5000
)

// SchemaError is the error of [CheckSchema] for a JSON schema that must not be used. The check of a value against such a schema
// might never end, or might take too much time or memory.
type SchemaError struct {
	// Problem says what is wrong, such as "it is nested more than 100 levels deep".
	Problem string
}

// Error returns a text with the Problem.
func (e *SchemaError) Error() string { return "the JSON schema is refused: " + e.Problem }

// CheckSchema checks whether a JSON schema may be used. It returns nil or a [*SchemaError]. The empty schema may be used, and so
// may a schema that the validator does not support, such as one of an unknown draft; but no value is checked against these.
func CheckSchema(schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	if len(schema) == 0 {
		return nil
	}
	if refused, ok := errors.AsType[*SchemaError](lookup(schema).problem); ok {
		return refused
	}
	return nil
}

// CanCheck returns what is wrong with a JSON schema whose author can still correct it; nil if values can be checked against it. The error is
// that of [CheckSchema], or says why the validator does not support the schema, or names a type that JSON does not have.
func CanCheck(schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	c := lookup(schema)
	if c.problem != nil {
		return c.problem
	}
	for _, pointer := range slices.Sorted(maps.Keys(c.graph.pointers)) {
		s, where := c.graph.pointers[pointer], "it"
		if pointer != "" {
			where = fmt.Sprintf("its subschema %q", pointer)
		}
		for _, name := range append(slices.Clone(s.Types), s.Type) {
			if name != "" && !slices.Contains(types, name) {
				return fmt.Errorf("%s has the type %q; write one of %s", where, name, strings.Join(types, ", "))
			}
		}
	}
	return nil
}

// types are the types of JSON schemas.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

type compiled struct {
	validator *jsonschema.Resolved // nil if values are not checked against the schema
	graph     *graph               // nil if validator is nil
	problem   error                // why values are not checked; nil if they are
}

// Without the cache, a schema would be compiled again for each call of its tool and each time the tool is listed.
var schemas = struct {
	sync.RWMutex
	compiled map[string]compiled
}{compiled: map[string]compiled{}}

// Violation checks a JSON value against a schema. `text` is the JSON text of the value. Violation returns "" if the value matches
// the schema. If it does not, Violation returns an explanation for the model. A value that is too large or too deeply nested to be
// checked does not match. Text that is not valid JSON does not match either.
//
// Some schemas match every JSON value: the empty schema, a schema that the validator does not support, and a schema that
// [CheckSchema] refuses.
func Violation(schema json.RawMessage, text string) string {
	v, err := decode(text)
	switch {
	case errors.Is(err, errMore):
		return err.Error()
	case err != nil:
		return "it is not valid JSON: " + err.Error()
	}
	return violation(schema, v)
}

// violation is like [Violation], but takes a value that [decode] has returned.
func violation(schema json.RawMessage, value any) (problem string) {
	if len(schema) == 0 {
		return ""
	}
	c := lookup(schema)
	if c.validator == nil {
		return ""
	}
	if !c.graph.affordable(value) {
		return "it is too large or too deeply nested to be checked"
	}
	defer func() {
		// A malicious schema can break an assertion of the validator, which then panics. Such a schema counts as not
		// supported.
		if recover() != nil {
			problem = ""
		}
	}()
	if err := c.validator.Validate(value); err != nil {
		return readable(err)
	}
	return ""
}

func lookup(schema json.RawMessage) compiled {
	if err := checkSize(schema); err != nil {
		return compiled{problem: err}
	}
	schemas.RLock()
	c, ok := schemas.compiled[string(schema)]
	schemas.RUnlock()
	if ok {
		return c
	}
	c, err := compile(schema)
	if err != nil {
		c = compiled{problem: err}
	}
	schemas.Lock()
	defer schemas.Unlock()
	if len(schemas.compiled) >= maxSchemas {
		clear(schemas.compiled)
	}
	schemas.compiled[string(schema)] = c
	return c
}

// checkSize returns a [*SchemaError] if the text of a schema is too long or too deeply nested to be parsed.
func checkSize(schema json.RawMessage) error {
	if len(schema) > maxSchemaBytes {
		return &SchemaError{fmt.Sprintf("it has %d bytes; the limit is %d: shorten it", len(schema), maxSchemaBytes)}
	}
	depth, quoted := 0, false
	for i := 0; i < len(schema); i++ {
		switch b := schema[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			if depth++; depth > maxSchemaDepth {
				return &SchemaError{fmt.Sprintf("it is nested more than %d levels deep; make it flatter", maxSchemaDepth)}
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

// compile prepares a schema for the check of values. If the schema must not be used, the error is a [*SchemaError]. If the
// validator does not support the schema, the error has another type.
func compile(schema json.RawMessage) (c compiled, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("schema: %v", v)
		}
	}()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		// The library decodes into a type of its own, which means nothing to a reader.
		return c, errors.New(strings.ReplaceAll(jsonwords.Problem(err), "schemaWithoutMethods.", ""))
	}
	switch strings.TrimSuffix(s.Schema, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		s.Schema = "http://json-schema.org/draft-07/schema#" // the validator requires the final #
	default:
		return c, errors.New("$schema is " + s.Schema + ", which is not supported; use draft 2020-12 or draft-07")
	}
	if c.graph, err = newGraph(&s); err != nil {
		return c, err
	}
	if err := c.graph.checkInPlace(); err != nil {
		return c, err
	}
	c.validator, err = s.Resolve(nil)
	return c, err
}

// step matches one prefix "validating <schema>: " of an error text of the validator. The validator adds one such prefix for
// each subschema that contains the problem. The prefix of the outermost subschema comes first.
var step = regexp.MustCompile(`^validating ([^:\s]*): `)

// readable converts an error of the validator into a text for the model. The text has the path of the wrong field, if known,
// and a description of the problem. The description is cut to 1000 bytes, because an error may quote long values.
func readable(err error) string {
	text, where := err.Error(), ""
	for m := step.FindStringSubmatch(text); m != nil; m = step.FindStringSubmatch(text) {
		text = text[len(m[0]):]
		if f := field(m[1]); f != "" {
			where = f
		}
	}
	text = clip.Middle(text, 1000)
	if where == "" {
		return text
	}
	return fmt.Sprintf("%q: %s", where, text)
}

// field converts the JSON pointer of a subschema into a path for the model. The path names the value that the subschema
// describes. For example, /properties/a/items/properties/b becomes a[].b.
func field(pointer string) string {
	var path strings.Builder
	segments := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := 0; i < len(segments); i++ {
		switch segments[i] {
		case "properties":
			if i++; i < len(segments) {
				if path.Len() > 0 {
					path.WriteByte('.')
				}
				path.WriteString(unescapePointer.Replace(segments[i]))
			}
		case "items", "prefixItems":
			path.WriteString("[]")
		}
	}
	return path.String()
}
