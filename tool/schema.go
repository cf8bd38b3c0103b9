package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxSchemas bounds the cache of compiled schemas. Tools are listed anew while
	// a worker runs, and a server may describe a tool differently each time.
	maxSchemas = 1000
	// maxSchemaBytes and maxSchemaDepth bound the JSON of a schema.
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 100
	// maxInPlace bounds against how many subschemas one value is checked.
	maxInPlace = 10_000
	// maxPatternSize bounds the instructions of one regular expression.
	maxPatternSize = 5000
)

// SchemaError says why a JSON schema is refused: validating against it could take without end, or too much time or memory.
type SchemaError struct{ Problem string }

// Error says what is wrong with the schema.
func (e *SchemaError) Error() string { return "the JSON schema is refused: " + e.Problem }

// CheckSchema returns a [*SchemaError] for a JSON schema that must not be used, and nil for any other. A schema that the
// validator does not know, such as one of another draft, is no error: values are not checked against it. The empty schema
// is no error.
func CheckSchema(schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	return lookup(schema).refused
}

// compiled is a schema ready for validation. Without a validator values are not checked against it.
type compiled struct {
	validator *jsonschema.Resolved
	graph     *graph
	refused   error // a *SchemaError or nil
}

// schemas keeps compiled schemas by their text, so that a tool that is listed
// again finds the one it had.
var schemas = struct {
	sync.RWMutex
	compiled map[string]compiled
}{compiled: map[string]compiled{}}

// Violation says how a text breaks a JSON schema, for a model to read. It is empty if the text fits, or if it
// cannot be checked because the validator does not know the schema or [CheckSchema] refuses it.
func Violation(schema json.RawMessage, text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "it is not valid JSON: " + err.Error()
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "text follows the JSON value"
	}
	return violation(schema, plainNumbers(v))
}

// violation says how a value breaks a schema: empty if it does not, or if the
// schema cannot be checked.
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
		// The validator asserts what a hostile schema may break. Such a schema is one
		// that cannot be checked.
		if recover() != nil {
			problem = ""
		}
	}()
	if err := c.validator.Validate(value); err != nil {
		return readable(err)
	}
	return ""
}

// lookup returns the compiled schema from the cache, or compiles it.
func lookup(schema json.RawMessage) compiled {
	if err := checkSize(schema); err != nil {
		return compiled{refused: err}
	}
	schemas.RLock()
	c, ok := schemas.compiled[string(schema)]
	schemas.RUnlock()
	if ok {
		return c
	}
	c, err := compile(schema)
	if err != nil {
		c = compiled{}
		if refused, ok := errors.AsType[*SchemaError](err); ok {
			c.refused = refused
		}
	}
	schemas.Lock()
	defer schemas.Unlock()
	if len(schemas.compiled) >= maxSchemas {
		clear(schemas.compiled)
	}
	schemas.compiled[string(schema)] = c
	return c
}

// checkSize returns a [*SchemaError] for a schema that takes too long to read.
func checkSize(schema json.RawMessage) error {
	if len(schema) > maxSchemaBytes {
		return &SchemaError{fmt.Sprintf("it has %d bytes; the limit is %d", len(schema), maxSchemaBytes)}
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
				return &SchemaError{fmt.Sprintf("it is nested more than %d levels deep", maxSchemaDepth)}
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

// compile returns the schema ready for validation. The error is a [*SchemaError] for a schema that is refused, and another
// one for a schema that the validator does not know.
func compile(schema json.RawMessage) (c compiled, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("schema: %v", v)
		}
	}()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return c, err
	}
	switch strings.TrimSuffix(s.Schema, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		s.Schema = "http://json-schema.org/draft-07/schema#" // the one spelling that is known
	default:
		return c, errors.New("unknown draft " + s.Schema)
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

// step is one "validating <schema>: " that the validator puts before its error,
// the outermost first.
var step = regexp.MustCompile(`^validating ([^:\s]*): `)

// readable rewrites a validator's error for a model: the field it is about, as a
// path of names, and what is wrong with it. Long values that the error quotes are
// cut.
func readable(err error) string {
	text, where := err.Error(), ""
	for {
		m := step.FindStringSubmatch(text)
		if m == nil {
			break
		}
		text = text[len(m[0]):]
		if f := field(m[1]); f != "" {
			where = f
		}
	}
	text = Clip(text, 1000)
	if where == "" {
		return text
	}
	return fmt.Sprintf("%q: %s", where, text)
}

// field turns the pointer to a subschema, /properties/a/items/properties/b, into
// the path of the value it describes, a[].b.
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
				path.WriteString(strings.NewReplacer("~1", "/", "~0", "~").Replace(segments[i]))
			}
		case "items", "prefixItems":
			path.WriteString("[]")
		}
	}
	return path.String()
}
