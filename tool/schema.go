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

// maxSchemas bounds the cache of resolved schemas. Tools are listed anew while
// a worker runs, and a server may describe a tool differently each time.
const maxSchemas = 1000

// schemas keeps resolved schemas by their text, so that a tool that is listed
// again finds the one it had. A nil value is a schema that cannot be checked.
var schemas = struct {
	sync.RWMutex
	resolved map[string]*jsonschema.Resolved
}{resolved: map[string]*jsonschema.Resolved{}}

// Violation says how a text breaks a JSON schema, for a model to read: empty if it does not, or if the
// schema cannot be checked.
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
	resolved := resolve(schema)
	if resolved == nil {
		return ""
	}
	defer func() {
		// The validator asserts what a hostile schema may break. Such a schema is one
		// that cannot be checked.
		if recover() != nil {
			problem = ""
		}
	}()
	if err := resolved.Validate(value); err != nil {
		return readable(err)
	}
	return ""
}

// resolve returns the schema ready for validation, nil if it cannot be.
func resolve(schema json.RawMessage) *jsonschema.Resolved {
	if len(schema) == 0 {
		return nil
	}
	schemas.RLock()
	r, ok := schemas.resolved[string(schema)]
	schemas.RUnlock()
	if ok {
		return r
	}
	r, err := compile(schema)
	if err != nil {
		r = nil
	}
	schemas.Lock()
	defer schemas.Unlock()
	if len(schemas.resolved) >= maxSchemas {
		clear(schemas.resolved)
	}
	schemas.resolved[string(schema)] = r
	return r
}

func compile(schema json.RawMessage) (r *jsonschema.Resolved, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = nil, fmt.Errorf("schema: %v", v)
		}
	}()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	switch strings.TrimSuffix(s.Schema, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		s.Schema = "http://json-schema.org/draft-07/schema#" // the one spelling that is known
	default:
		return nil, errors.New("unknown draft " + s.Schema)
	}
	return s.Resolve(nil)
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
