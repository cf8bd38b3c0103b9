package tool

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// The validator recurses without a limit, and its errors quote values and other errors. So [graph.affordable] estimates the
// cost of a validation before the validator runs. The estimate compares no values, follows every branch of the schema, and
// stops when it reaches a limit.

const (
	// maxSteps limits the cost of one validation. One step is about one microsecond of the validator, or stepBytes bytes of
	// error texts that the validator may write.
	maxSteps = 1_000_000
	// maxValidationDepth limits the recursion of the validator.
	maxValidationDepth = 1000
	stepBytes          = 64
)

// node is a JSON value with its sizes. From the sizes, [graph.affordable] estimates the cost of checking the value.
type node struct {
	size   int              // about the length of the value's JSON form, in bytes
	fields map[string]*node // the members of an object
	items  []*node          // the elements of an array
	text   bool             // the value is a string
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

// affordable reports whether a value may be checked against the schema. It estimates the cost and the recursion depth of the
// check. The cost must be at most [maxSteps], and the depth must be at most [maxValidationDepth].
func (g *graph) affordable(value any) bool {
	w := walk{graph: g}
	w.visit(g.root, newNode(value), 0)
	return w.steps <= maxSteps
}

type walk struct {
	*graph
	steps int // the cost so far
}

// visit estimates the cost of checking the value `n` against the schema `s`, and adds the cost to `w.steps`. It returns the
// estimated length, in bytes, of the error text that the check may produce. visit stops as soon as `w.steps` is more than
// [maxSteps]. `depth` is the current recursion depth. If `depth` is more than [maxValidationDepth], visit makes `w.steps`
// larger than maxSteps.
func (w *walk) visit(s *jsonschema.Schema, n *node, depth int) (text int) {
	if depth > maxValidationDepth {
		// This ends the whole estimate: the value counts as too expensive.
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
	joined := 0 // the error of an anyOf quotes the errors of all its branches
	for _, next := range s.AnyOf {
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

// match adds the estimated cost of matching a text of the given length against a regular expression to `w.steps`.
func (w *walk) match(pattern string, bytes int) { w.steps += w.patterns[pattern] * bytes / stepBytes }
