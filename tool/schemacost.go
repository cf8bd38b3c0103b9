package tool

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// The validator recurses without a bound, and its errors quote values and each other. So its way is walked before it is:
// [graph.affordable] makes no comparison, follows every branch, and stops at a bound.

const (
	// maxSteps bounds one validation. A step is about a microsecond of the validator, or 64 bytes of the errors that it
	// may write on its way.
	maxSteps = 1_000_000
	// maxValidationDepth bounds how deep the validator recurses.
	maxValidationDepth = 1000
	stepBytes          = 64
)

// node is a JSON value with its size.
type node struct {
	size   int // about the number of bytes of its JSON form
	fields map[string]*node
	items  []*node
	text   bool
}

func newNode(v any) *node {
	n := &node{size: 8}
	switch v := v.(type) {
	case map[string]any:
		n.fields = make(map[string]*node, len(v))
		for name, value := range v {
			field := newNode(value)
			n.fields[name] = field
			n.size += len(name) + 4 + field.size
		}
	case []any:
		for _, value := range v {
			item := newNode(value)
			n.items = append(n.items, item)
			n.size += item.size + 1
		}
	case string:
		n.text, n.size = true, len(v)+2
	case fmt.Stringer:
		n.size = len(v.String())
	}
	return n
}

// affordable reports whether a value can be validated within the bounds.
func (g *graph) affordable(value any) bool {
	w := walk{graph: g}
	w.visit(g.root, newNode(value), 0)
	return w.steps <= maxSteps
}

// walk is one estimate under way.
type walk struct {
	*graph
	steps int
}

// visit counts the steps of checking a value against a schema, and returns how many bytes an error of it may have.
func (w *walk) visit(s *jsonschema.Schema, n *node, depth int) (text int) {
	if depth > maxValidationDepth {
		w.steps = maxSteps + 1
	}
	if w.steps++; w.steps > maxSteps {
		return 0
	}
	text = n.size
	below := func(next *jsonschema.Schema, part *node) {
		if next != nil && w.steps <= maxSteps {
			text = max(text, w.visit(next, part, depth+1))
		}
	}
	if n.text && s.Pattern != "" {
		w.match(s.Pattern, n.size)
	}
	for _, next := range w.inPlace[s] {
		below(next, n)
	}
	joined := 0 // an anyOf quotes the errors of all its branches
	for _, next := range s.AnyOf {
		if w.steps > maxSteps {
			break
		}
		joined += w.visit(next, n, depth+1)
	}
	text = max(text, joined)
	for name, field := range n.fields {
		below(s.Properties[name], field)
		for pattern, next := range s.PatternProperties {
			w.match(pattern, len(name))
			below(next, field)
		}
		if s.Properties[name] == nil {
			below(s.AdditionalProperties, field)
		}
		below(s.UnevaluatedProperties, field)
		below(s.PropertyNames, &node{size: len(name) + 2, text: true})
	}
	for i, item := range n.items {
		if i < len(s.PrefixItems) {
			below(s.PrefixItems[i], item)
		}
		if i < len(s.ItemsArray) {
			below(s.ItemsArray[i], item)
		}
		below(s.Items, item)
		below(s.AdditionalItems, item)
		below(s.Contains, item)
		below(s.UnevaluatedItems, item)
	}
	text += w.literal[s] + stepBytes
	w.steps += text / stepBytes
	return text
}

// match counts the steps of a regular expression.
func (w *walk) match(pattern string, bytes int) { w.steps += w.patterns[pattern] * bytes / stepBytes }
