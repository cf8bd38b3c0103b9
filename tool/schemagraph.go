package tool

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reagent-dev/reagent/internal/pattern"
)

// graph is a JSON schema as the validator walks it: subschemas, the references between them, and what each costs. It is
// safe for concurrent use once it is built.
type graph struct {
	root *jsonschema.Schema
	// pointers are the subschemas by JSON pointer, anchors those that have a name.
	pointers map[string]*jsonschema.Schema
	anchors  map[string]*jsonschema.Schema
	refs     map[*jsonschema.Schema]*jsonschema.Schema
	// inPlace are the subschemas that are checked against the same value as their parent, except those of anyOf.
	inPlace map[*jsonschema.Schema][]*jsonschema.Schema
	// literal is about how many bytes of a subschema an error may quote.
	literal map[*jsonschema.Schema]int
	// patterns are the sizes of regular expressions.
	patterns map[string]int
}

// newGraph returns the graph of a schema. It fails for references that it cannot follow: $dynamicRef, and those that
// lead to an $id below the root.
func newGraph(root *jsonschema.Schema) (*graph, error) {
	g := &graph{
		root: root, pointers: map[string]*jsonschema.Schema{}, anchors: map[string]*jsonschema.Schema{},
		refs: map[*jsonschema.Schema]*jsonschema.Schema{}, inPlace: map[*jsonschema.Schema][]*jsonschema.Schema{},
		literal: map[*jsonschema.Schema]int{}, patterns: map[string]int{},
	}
	if err := g.add("", root); err != nil {
		return nil, err
	}
	for _, s := range g.pointers {
		if s.Ref == "" {
			continue
		}
		to, err := g.resolve(s.Ref)
		if err != nil {
			return nil, err
		}
		g.refs[s] = to
		g.inPlace[s] = append(g.inPlace[s], to)
	}
	return g, nil
}

// add takes a subschema and those below it into the graph.
func (g *graph) add(pointer string, s *jsonschema.Schema) error {
	switch {
	case s == nil:
		return fmt.Errorf("the schema at %q is null", pointer)
	case s.DynamicRef != "":
		return fmt.Errorf("the schema at %q has a $dynamicRef", pointer)
	case s.ID != "" && s != g.root:
		return fmt.Errorf("the schema at %q has an $id of its own", pointer)
	}
	g.pointers[pointer] = s
	for _, name := range []string{s.Anchor, s.DynamicAnchor} {
		if name != "" {
			g.anchors[name] = s
		}
	}
	g.literal[s] = len(pointer) + len(s.ID) + len(s.Pattern) + len(fmt.Sprint(s.Enum, s.Required, s.DependentRequired, s.DependencyStrings))
	if s.Const != nil {
		g.literal[s] += len(fmt.Sprint(*s.Const))
	}
	for name := range s.Properties {
		g.literal[s] += len(name)
	}
	if err := g.addPattern(s.Pattern); err != nil {
		return err
	}
	for expr := range s.PatternProperties {
		if err := g.addPattern(expr); err != nil {
			return err
		}
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		below := func(key string, sub *jsonschema.Schema) error {
			place := pointer + "/" + keyword(field)
			if key != "" || field.Type != reflect.TypeFor[*jsonschema.Schema]() {
				place += "/" + escapePointer.Replace(key)
			}
			if field.Name != "AnyOf" && !consuming[field.Name] {
				g.inPlace[s] = append(g.inPlace[s], sub)
			}
			g.literal[s] += len(sub.ID) + len(sub.Anchor) + 24 // as errors list them
			return g.add(place, sub)
		}
		if err := each(v.Field(i).Interface(), below); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for the subschemas that a field of a schema holds.
func each(field any, f func(key string, s *jsonschema.Schema) error) error {
	switch field := field.(type) {
	case *jsonschema.Schema:
		if field != nil {
			return f("", field)
		}
	case []*jsonschema.Schema:
		for i, s := range field {
			if s == nil {
				return fmt.Errorf("a schema of a list is null")
			}
			if err := f(strconv.Itoa(i), s); err != nil {
				return err
			}
		}
	case map[string]*jsonschema.Schema:
		for key, s := range field {
			if s == nil {
				return fmt.Errorf("the schema %q is null", key)
			}
			if err := f(key, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// consuming are the fields of a schema whose subschemas are not checked against the value itself, but against a part of
// it, or not at all. All others count as checked against the value itself.
var consuming = map[string]bool{
	"Defs": true, "Definitions": true, "ContentSchema": true,
	"PrefixItems": true, "Items": true, "ItemsArray": true, "AdditionalItems": true, "Contains": true, "UnevaluatedItems": true,
	"Properties": true, "PatternProperties": true, "AdditionalProperties": true, "PropertyNames": true, "UnevaluatedProperties": true,
}

// keyword returns the name that a field of a schema has in JSON pointers.
func keyword(field reflect.StructField) string {
	switch field.Name {
	case "Items", "ItemsArray":
		return "items"
	case "DependencySchemas":
		return "dependencies"
	}
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// resolve returns the subschema that a $ref leads to.
func (g *graph) resolve(ref string) (*jsonschema.Schema, error) {
	if g.root.ID != "" {
		if rest, ok := strings.CutPrefix(ref, g.root.ID); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	u, err := url.Parse(ref)
	if err != nil || !strings.HasPrefix(ref, "#") {
		return nil, fmt.Errorf("the reference %q leads out of the schema", ref)
	}
	found, ok := g.anchors[u.Fragment]
	if u.Fragment == "" || strings.HasPrefix(u.Fragment, "/") {
		segments := strings.Split(u.Fragment, "/")
		for i, segment := range segments {
			segments[i] = escapePointer.Replace(unescapePointer.Replace(segment))
		}
		found, ok = g.pointers[strings.Join(segments, "/")]
	}
	if !ok {
		return nil, fmt.Errorf("the reference %q leads to nothing", ref)
	}
	return found, nil
}

// addPattern measures a regular expression. It returns a [*SchemaError] for one that is too large to be compiled.
func (g *graph) addPattern(expr string) error {
	size, err := pattern.Size(expr)
	if err != nil {
		return err
	}
	if size > maxPatternSize {
		return &SchemaError{"a pattern repeats so much that it has more than " + strconv.Itoa(maxPatternSize) + " instructions; simplify it"}
	}
	g.patterns[expr] = size
	return nil
}

// checkInPlace returns a [*SchemaError] if one value is checked against some subschema without end, or too often.
func (g *graph) checkInPlace() error {
	const underWay = -1
	cost := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch c := cost[s]; {
		case c == underWay:
			return &SchemaError{"it refers to itself without going down into the value, so that no check of it would end; remove the $ref that leads back"}
		case c > 0:
			return nil
		}
		cost[s] = underWay
		total := 1
		for _, next := range slices.Concat(g.inPlace[s], s.AnyOf) {
			if err := visit(next); err != nil {
				return err
			}
			if total += cost[next]; total > maxInPlace {
				return &SchemaError{fmt.Sprintf("one value would be checked against more than %d subschemas; simplify its allOf, anyOf, oneOf and $ref", maxInPlace)}
			}
		}
		cost[s] = total
		return nil
	}
	for _, s := range g.pointers {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}
