package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// assembledCalls are the tool calls of a stream, in the order in which each was first heard of.
type assembledCalls []*assembledCall

type assembledCall struct {
	// key is the index that the endpoint gave, or the piece's place in its list.
	key       int
	indexed   bool
	id        string
	name      string
	arguments strings.Builder
}

// add takes the piece at place i of n in one event's list, and returns what it
// adds. Which call a piece belongs to, endpoints say in different ways, and some
// wrongly: an index is a key and not a position; without one the place in the
// list tells, or it is the call before; and a new ID, or a name after arguments
// that are whole, begins a new call.
func (all *assembledCalls) add(piece call, i, n int) llm.ToolCallDelta {
	at := all.find(piece, i, n)
	if at >= 0 && startsCall(piece, (*all)[at]) {
		at = -1
	}
	if at < 0 {
		c := &assembledCall{key: i, id: string(piece.ID)}
		if piece.Index != nil {
			c.key, c.indexed = int(*piece.Index), true
		}
		at, *all = len(*all), append(*all, c)
	}
	c := (*all)[at]
	if c.id == "" {
		c.id = string(piece.ID)
	}
	before := c.name
	c.rename(string(piece.Function.Name))
	c.arguments.WriteString(string(piece.Function.Arguments))
	told := llm.ToolCallDelta{Index: at, Arguments: string(piece.Function.Arguments)}
	if c.name != before {
		told.Name = c.name
	}
	return told
}

// find returns the call that the piece may go on with, the latest that fits; -1
// when there is none.
func (all assembledCalls) find(piece call, i, n int) int {
	if piece.Index == nil && piece.ID != "" {
		if at := all.last(func(c *assembledCall) bool { return c.id == string(piece.ID) && (n == 1 || c.key == i) }); at >= 0 {
			return at
		}
	}
	switch {
	case piece.Index != nil:
		return all.last(func(c *assembledCall) bool { return c.indexed && c.key == int(*piece.Index) })
	case n == 1:
		return len(all) - 1
	}
	return all.last(func(c *assembledCall) bool { return !c.indexed && c.key == i })
}

func (all assembledCalls) last(fits func(*assembledCall) bool) int {
	for at, c := range slices.Backward(all) {
		if fits(c) {
			return at
		}
	}
	return -1
}

// startsCall reports whether the piece is the first of another call than c.
func startsCall(piece call, c *assembledCall) bool {
	id, name := string(piece.ID), string(piece.Function.Name)
	switch {
	case id != "" && c.id != "":
		return id != c.id
	case name == "" || c.name == "":
		return false
	case piece.Index == nil && name != c.name:
		return true
	}
	// Some endpoints repeat the name with every piece, and others have index 0
	// for every call: only arguments that are whole tell the two apart.
	arguments := c.arguments.String()
	return strings.HasPrefix(strings.TrimSpace(string(piece.Function.Arguments)), "{") &&
		strings.HasSuffix(strings.TrimSpace(arguments), "}") && json.Valid([]byte(arguments))
}

// rename takes a name that comes at once, again with every piece, or in pieces.
func (c *assembledCall) rename(name string) {
	switch {
	case name == "" || name == c.name:
	case strings.HasPrefix(name, c.name):
		c.name = name
	case c.arguments.Len() == 0:
		c.name += name
	}
}

// whole returns the calls in the order of their indexes; those without one are
// in the order in which they came.
func (all assembledCalls) whole() []call {
	sorted := slices.Clone(all)
	if !slices.ContainsFunc(all, func(c *assembledCall) bool { return !c.indexed }) {
		slices.SortStableFunc(sorted, func(a, b *assembledCall) int { return a.key - b.key })
	}
	var wire []call
	for _, c := range sorted {
		wire = append(wire, call{ID: text(c.id), Function: called{Name: text(c.name), Arguments: text(c.arguments.String())}})
	}
	return wire
}
