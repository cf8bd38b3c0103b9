package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// assembledCalls are the tool calls of a stream, in the order in which their first deltas came.
type assembledCalls []*assembledCall

// assembledCall is one tool call of a stream, assembled from the deltas that have arrived so far.
type assembledCall struct {
	// key is the index in the call's first delta. If that delta has no index, key is the delta's position in the event's list
	// of tool calls.
	key       int
	indexed   bool // key is an index
	id        string
	name      string
	arguments strings.Builder
}

// add adds a delta of a tool call to the call that it belongs to. It returns the delta for the function of [llm.WithStream].
// The parameter i is the position of the delta in the event's list of tool calls, and n is the length of this list.
//
// Endpoints mark in different ways which call a delta belongs to, and some mark it wrongly. add uses these rules:
//   - An index identifies a call. The index may differ from the call's position in the reply.
//   - A delta without an index belongs to the call with the same ID, or to the call at the same position in the list. If the
//     delta is alone in its list, it belongs to the last call.
//   - A delta with a new ID begins a new call. A delta with a name may also begin a new call: see startsCall.
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

// find looks for the call that the delta piece may continue. It returns the position of this call in the list of calls. If
// several calls match, it returns the position of the last one. If no call matches, it returns -1. The parameters i and n
// have the same meaning as in add.
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

// last returns the position of the last call for which fits returns true; -1 if there is none.
func (all assembledCalls) last(fits func(*assembledCall) bool) int {
	for at, c := range slices.Backward(all) {
		if fits(c) {
			return at
		}
	}
	return -1
}

// startsCall is called for a delta and the call c that find has returned for this delta. It reports whether the delta does
// not continue c but begins a new call.
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
	// Some endpoints repeat the name in every delta of a call. Others send index 0 for every call. Only complete arguments
	// show that the next delta belongs to a new call.
	arguments := c.arguments.String()
	return strings.HasPrefix(strings.TrimSpace(string(piece.Function.Arguments)), "{") &&
		strings.HasSuffix(strings.TrimSpace(arguments), "}") && json.Valid([]byte(arguments))
}

// rename updates the call's name with the name in a delta. An endpoint may send a name once, repeat it in every delta, or
// send it in parts. If the name in the delta begins with the current name, it replaces the current name. Otherwise it is the
// next part of the name, and rename appends it. A call that already has arguments has its whole name, so rename then ignores
// such a part.
func (c *assembledCall) rename(name string) {
	switch {
	case name == "" || name == c.name:
	case strings.HasPrefix(name, c.name):
		c.name = name
	case c.arguments.Len() == 0:
		c.name += name
	}
}

// whole returns the complete calls in the form of a response that is not streamed. If all calls have an index, they are in the
// order of their indexes. Otherwise they are in the order in which their first deltas came.
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
