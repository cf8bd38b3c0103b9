package config

import (
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// place is one value of the YAML document, with its path, such as `agents.assistant.model`.
//
// A place with a shape has no value, and stands for all values that its field may have. A function that reads such a place draws these values
// into the shape: see [Schema]. So the fields of the schema are those that the reader reads.
type place struct {
	path  string
	node  *yaml.Node         // nil if there is a shape
	shape *jsonschema.Schema // nil if there is a node
}

func (p place) key(k string) string {
	if p.path == "" {
		return k
	}
	return p.path + "." + k
}

// reader converts values of the YAML document into Go values, and collects the problems of these values. It continues after a
// problem, so the user gets all problems at once. Many methods return a function that reads one value of the document and stores
// the Go value in `*into`, or reports a problem.
type reader struct {
	source

	problems []Problem
	failed   map[string]bool // paths of the values with a problem
	// onlyOwnTools says that there are no tools besides those in the file: see [Config.CheckTools].
	onlyOwnTools bool
}

func (r *reader) problemf(path, format string, args ...any) { r.add(r.at(path, format, args...)) }

func (r *reader) add(p Problem) {
	r.problems = append(r.problems, p)
	r.failed[p.Field] = true
}

// hasProblem reports whether a problem was already found in the value with the given path. [reader.check] skips such a value, so
// that it is not reported again, for example as missing.
func (r *reader) hasProblem(path string) bool { return r.failed[path] }

// present reports whether the file has the entry, even if its value is wrong or null.
func (r *reader) present(path string) bool {
	_, ok := r.lines[path]
	return ok
}

// field is one field of a mapping.
type field struct {
	about string // what editors show
	read  func(place)
}

type keys map[string]field

// object calls the function in `known` for each key of a mapping, and reports all other keys. A value that is null leaves the
// default.
func (r *reader) object(p place, known keys) {
	if s := p.shape; s != nil {
		s.Type, s.AdditionalProperties, s.Properties = "object", nothing(), map[string]*jsonschema.Schema{}
		for key, field := range known {
			s.Properties[key] = &jsonschema.Schema{Description: field.about}
			field.read(place{path: p.key(key), shape: s.Properties[key]})
		}
		return
	}
	r.entries(p, func(key string, value place) {
		field, ok := known[key]
		if !ok {
			r.problemf(value.path, "unknown key; %s", suggest(key, known))
			return
		}
		if value.node.ShortTag() != "!!null" {
			field.read(value)
		}
	})
}

// formed is [reader.object] for a mapping that people mistake for a list. The problem of another value shows what the mapping looks like.
func (r *reader) formed(p place, form string, known keys) {
	if p.shape == nil && p.node.Kind != yaml.MappingNode && p.node.ShortTag() != "!!null" {
		r.problemf(p.path, "must be a mapping of keys to values, not %s; write it as %s", kindOf(p.node), form)
		return
	}
	r.object(p, known)
}

// named is like [reader.entries], for a mapping whose keys must match `pattern`. For another key, it reports a problem, whose text is the key
// and `help`, and goes on.
func (r *reader) named(p place, pattern *regexp.Regexp, help string, each func(name string, value place)) {
	r.entries(p, func(name string, value place) {
		if value.shape == nil && !pattern.MatchString(name) {
			r.problemf(value.path, "%q %s", name, help)
		}
		each(name, value)
	})
	if p.shape != nil {
		p.shape.PropertyNames = &jsonschema.Schema{Pattern: pattern.String()}
	}
}

// entries calls `each` for every entry of a mapping, in the order of the file. Any text may be a key. If a key occurs twice,
// entries reports a problem. A mapping that is null has no entries.
func (r *reader) entries(p place, each func(key string, value place)) {
	if s := p.shape; s != nil {
		s.Type, s.AdditionalProperties = "object", &jsonschema.Schema{}
		each("*", place{path: p.key("*"), shape: s.AdditionalProperties})
		return
	}
	if p.node.Kind != yaml.MappingNode {
		if p.node.ShortTag() != "!!null" {
			r.problemf(p.path, "must be a mapping of keys to values, not %s", kindOf(p.node))
		}
		return
	}
	first := map[string]int{}
	for i := 0; i < len(p.node.Content); i += 2 {
		k, v := p.node.Content[i], p.node.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.add(Problem{File: r.file, Line: k.Line, Field: p.path, Message: "a key must be a text, not " + kindOf(k)})
			continue
		}
		path := p.key(k.Value)
		if line, ok := first[k.Value]; ok {
			r.add(Problem{File: r.file, Line: k.Line, Field: path, Message: fmt.Sprintf("is given twice; first on line %d", line)})
			continue
		}
		first[k.Value] = k.Line
		r.lines[path] = k.Line
		each(k.Value, place{path: path, node: v})
	}
}

func (r *reader) list(p place, each func(item place)) {
	if s := p.shape; s != nil {
		s.Type, s.Items = "array", &jsonschema.Schema{}
		each(place{path: p.path + "[]", shape: s.Items})
		return
	}
	if p.node.Kind != yaml.SequenceNode {
		form := ""
		if p.node.ShortTag() == "!!str" {
			form = "; put it in brackets: […]"
		}
		r.problemf(p.path, "must be a list, not %s%s", kindOf(p.node), form)
		return
	}
	for i, n := range p.node.Content {
		item := place{path: fmt.Sprintf("%s[%d]", p.path, i), node: n}
		r.lines[item.path] = n.Line
		each(item)
	}
}

// texts returns a function that reads a list. The function `read` returns a function for one element, as [reader.text] does.
func (r *reader) texts(into *[]string, read func(into *string) func(place)) func(place) {
	return func(p place) {
		r.list(p, func(item place) {
			var s string
			read(&s)(item)
			*into = append(*into, s)
		})
	}
}

// program returns a function that reads a program and its arguments. [reader.check] reports an empty list.
func (r *reader) program(into *[]string) func(place) {
	return func(p place) {
		r.texts(into, r.verbatim)(p)
		if p.shape != nil {
			p.shape.MinItems = new(1)
		}
	}
}
