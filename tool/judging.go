package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// CanJudge returns an error if a tool with the given schema refuses each call that it gets as a guardrail: see [JudgedText]. `kind` is
// [JudgedText].Kind. CanJudge looks only at the names and types of the arguments, because a text may be anything. It returns nil for a schema
// that the validator does not support: see [Violation].
func CanJudge(schema json.RawMessage, kind string) error {
	if len(schema) == 0 {
		return nil
	}
	c := lookup(schema)
	if c.graph == nil {
		return nil
	}
	root := c.graph.root
	sent := []string{"kind", "text"}
	for _, name := range root.Required {
		if !slices.Contains(sent, name) {
			return fmt.Errorf("it requires the argument %q, and a guardrail gets only kind and text; make the argument optional, or remove it", name)
		}
	}
	for _, name := range sent {
		s, known := root.Properties[name]
		switch {
		case known:
		case isFalse(root.AdditionalProperties) && len(root.PatternProperties) == 0:
			return fmt.Errorf("it takes no argument %q, and a guardrail gets kind and text; add the argument as a string", name)
		default:
			continue
		}
		if to, err := c.graph.resolve(s.Ref); s.Ref != "" && err == nil {
			s = to
		}
		if all := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type), func(t string) bool { return t == "" }); len(all) > 0 && !slices.Contains(all, "string") {
			return fmt.Errorf("its argument %q has the type %s, and a guardrail gets a text; make it a string", name, strings.Join(all, " or "))
		}
		if name == "kind" && !allows(s, kind) {
			return fmt.Errorf("its argument %q does not allow %q, which it would get here; add the value", name, kind)
		}
	}
	return nil
}

func allows(s *jsonschema.Schema, value string) bool {
	return (len(s.Enum) == 0 || slices.Contains(s.Enum, any(value))) && (s.Const == nil || *s.Const == any(value))
}

// isFalse reports whether no value fits the schema, which is then written as false.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}})
}
