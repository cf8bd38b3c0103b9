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

// graph has facts about a JSON schema, such as its subschemas and the references between them. From these facts, [graph.affordable]
// estimates the cost of checking a value. A graph does not change after [newGraph] has returned it, so it is safe for concurrent
// use.
type graph struct {
	root *jsonschema.Schema
	// pointers maps the JSON pointer of each subschema to the subschema. The root has the pointer "".
	pointers map[string]*jsonschema.Schema
	// anchors maps the name of an `$anchor` or a `$dynamicAnchor` to the subschema that has the anchor.
	anchors map[string]*jsonschema.Schema
	// inPlace maps each subschema to further subschemas that the validator checks against the same value. Examples are the
	// subschemas of `allOf` and the target of `$ref`. The subschemas of `anyOf` are not in inPlace.
	inPlace map[*jsonschema.Schema][]*jsonschema.Schema
	// literal maps each subschema to a number of bytes. The number estimates how much of the subschema an error text may quote,
	// for example of its `enum`.
	literal map[*jsonschema.Schema]int
	// patterns maps each regular expression to the number of instructions of its compiled form.
	patterns map[string]int
}

// newGraph returns the graph of a schema. If a regular expression in the schema is too large, the error is a [*SchemaError]. If
// the schema is not supported, the error has another type. These parts are not supported: a null subschema, an `$id` below the
// root, a `$dynamicRef`, a `$ref` without a target in the schema, and a regular expression that is not valid.
func newGraph(root *jsonschema.Schema) (*graph, error) {
	g := &graph{
		root: root, pointers: map[string]*jsonschema.Schema{}, anchors: map[string]*jsonschema.Schema{},
		inPlace: map[*jsonschema.Schema][]*jsonschema.Schema{}, literal: map[*jsonschema.Schema]int{}, patterns: map[string]int{},
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
		g.inPlace[s] = append(g.inPlace[s], to)
	}
	return g, nil
}

// add adds a subschema to the graph, and all subschemas below the subschema. `pointer` is the JSON pointer of the subschema.
// add returns an error in the cases that [newGraph] describes.
func (g *graph) add(pointer string, s *jsonschema.Schema) error {
	switch {
	case s == nil:
		return fmt.Errorf("the subschema at %q is null; use {} to allow every value", pointer)
	case s.DynamicRef != "":
		return fmt.Errorf("the subschema at %q has a $dynamicRef, which is not supported; use $ref", pointer)
	case s.ID != "" && s != g.root:
		return fmt.Errorf("the subschema at %q has an $id, which is only supported at the root; remove it", pointer)
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
			g.literal[s] += len(sub.ID) + len(sub.Anchor) + 24 // an error lists the subschemas
			return g.add(place, sub)
		}
		if err := each(v.Field(i).Interface(), below); err != nil {
			return err
		}
	}
	return nil
}

// each calls the function `f` for every subschema in one field of a [jsonschema.Schema]. `field` is the value of the field: a
// subschema, or a list or map of subschemas. The function also gets the index in the list, the key in the map, or "" if there
// is only one subschema. If the function returns an error, each stops and returns this error. A null subschema in a list or a
// map is also an error.
func each(field any, f func(key string, s *jsonschema.Schema) error) error {
	switch field := field.(type) {
	case *jsonschema.Schema:
		if field != nil {
			return f("", field)
		}
	case []*jsonschema.Schema:
		for i, s := range field {
			if s == nil {
				return fmt.Errorf("element %d of a list of subschemas, such as allOf, is null; use {} to allow every value", i)
			}
			if err := f(strconv.Itoa(i), s); err != nil {
				return err
			}
		}
	case map[string]*jsonschema.Schema:
		for key, s := range field {
			if s == nil {
				return fmt.Errorf("the subschema named %q is null; use {} to allow every value", key)
			}
			if err := f(key, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// consuming has the names of some fields of [jsonschema.Schema]. The validator does not check a whole value against the
// subschemas in these fields. Most of these subschemas, such as those in `Properties`, apply only to a part of the value.
// Others, such as those in `Defs`, are used only through references. For all other fields, [graph.affordable] assumes that the
// whole value is checked against their subschemas.
var consuming = map[string]bool{
	"Defs": true, "Definitions": true, "ContentSchema": true,
	"PrefixItems": true, "Items": true, "ItemsArray": true, "AdditionalItems": true, "Contains": true, "UnevaluatedItems": true,
	"Properties": true, "PatternProperties": true, "AdditionalProperties": true, "PropertyNames": true, "UnevaluatedProperties": true,
}

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

func (g *graph) resolve(ref string) (*jsonschema.Schema, error) {
	if g.root.ID != "" {
		if rest, ok := strings.CutPrefix(ref, g.root.ID); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	u, err := url.Parse(ref)
	if err != nil || !strings.HasPrefix(ref, "#") {
		return nil, fmt.Errorf("the $ref %q is not supported; use a $ref that begins with #, to a subschema of the same schema", ref)
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
		return nil, fmt.Errorf("the target of the $ref %q does not exist in the schema; correct the $ref, or add the target", ref)
	}
	return found, nil
}

func (g *graph) addPattern(expr string) error {
	size, err := pattern.Size(expr)
	if err != nil {
		return err
	}
	if size > maxPatternSize {
		return &SchemaError{"a pattern has more than " + strconv.Itoa(maxPatternSize) + " instructions when compiled; use smaller repeat counts in it"}
	}
	g.patterns[expr] = size
	return nil
}

// checkInPlace returns a [*SchemaError] in two cases: the check of a value would never end, or one value would be checked
// against more than [maxInPlace] subschemas.
func (g *graph) checkInPlace() error {
	const underWay = -1
	cost := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch c := cost[s]; {
		case c == underWay:
			return &SchemaError{"it refers to itself for the same value, so a check would never end; remove the $ref that closes the cycle"}
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
