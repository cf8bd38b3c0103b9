package openai

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// assembledCalls are the tool calls of a stream, in the order in which they began.
type assembledCalls []*assembledCall

// assembledCall is one tool call of a stream, assembled from the deltas (parts) that have arrived so far.
type assembledCall struct {
	// key identifies the call for later deltas. It is the index in the call's first delta. If that delta has no index, key is
	// the position of the delta in its event.
	key       int
	indexed   bool // whether the first delta had an index
	id        string
	name      string
	arguments growing
	provider  carrying // the data of the provider
}

// add adds the delta `piece`, a part of a tool call, to the call that the delta belongs to. If there is no such call yet, add begins a
// new call. `n` is the number of tool call deltas in the same event of the stream, and `i` is the position of this delta among them.
// `tools` are the tools that the request offers. add returns the delta in the form that the function of [llm.WithStream] gets.
func (all *assembledCalls) add(piece call, i, n int, tools []llm.ToolSpec) llm.ToolCallDelta {
	at := all.find(piece, i, n)
	if at >= 0 && startsCall(piece, (*all)[at], tools) {
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
	c.arguments.add(string(piece.Function.Arguments))
	c.provider.add(piece.carried)
	told := llm.ToolCallDelta{Index: at, Arguments: string(piece.Function.Arguments)}
	if c.name != before {
		told.Name = c.name
	}
	return told
}

// find returns the position of the call that a delta seems to belong to; -1 if there is none. If several calls match, find
// returns the position of the last one. `piece` is the delta. `n` is the number of tool call deltas in the same event, and `i`
// is the position of this delta among them.
func (all assembledCalls) find(piece call, i, n int) int {
	// Endpoints mark in different ways which call a delta belongs to:
	//   - A delta with an index belongs to the call with this index. The index may differ from the position of the call in the reply.
	//   - A delta without an index that is alone in its event belongs to the call with the same ID. If there is no such call, it belongs
	//     to the last call.
	//   - Any other delta without an index belongs to the call that began at the same position in its event.
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

// last returns the position of the last call for which `fits` returns true; -1 if there is none.
func (all assembledCalls) last(fits func(*assembledCall) bool) int {
	for at, c := range slices.Backward(all) {
		if fits(c) {
			return at
		}
	}
	return -1
}

// startsCall reports whether the delta `piece` begins a new call, although [assembledCalls.find] has returned the existing call `c`
// for this delta. This is possible because some endpoints mark deltas wrongly. `tools` are the tools that the request offers.
func startsCall(piece call, c *assembledCall, tools []llm.ToolSpec) bool {
	id, name := string(piece.ID), string(piece.Function.Name)
	switch {
	case id != "" && id == c.id:
		return false
	case id != "" && c.id != "" && (name != "" || piece.Function.Arguments != "" && c.arguments.complete()):
		return true
	case name == "" || c.name == "":
		return false // some endpoints send another ID in each delta of a call
	case piece.Index == nil && name != c.name:
		return true
	case name != c.name && c.arguments.Len() == 0 && !strings.HasPrefix(name, c.name):
		// Some endpoints send a name in parts. Two names of tools belong to two calls, unless the name of a tool begins with the two
		// names joined.
		offers := func(fits func(of, name string) bool, name string) bool {
			return slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return fits(t.Name, name) })
		}
		same := func(a, b string) bool { return a == b }
		return offers(same, c.name) && offers(same, name) && !offers(strings.HasPrefix, c.name+name)
	}
	// Some endpoints repeat the name in every delta of a call. Others send index 0 for every call. Only complete arguments
	// show that the next delta belongs to a new call.
	return strings.HasPrefix(strings.TrimSpace(string(piece.Function.Arguments)), "{") && c.arguments.complete()
}

// rename updates the name of the call with the name in a delta. Endpoints send a name once, repeat the name in every delta,
// or send the name in parts. If the new name begins with the current name, it replaces the current name. Any other name is
// the next part, and rename appends it. However, rename appends nothing if the call already has arguments, because its name
// is then complete.
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
// order of their indexes. Otherwise they are in the order in which they began.
func (all assembledCalls) whole() []call {
	sorted := slices.Clone(all)
	if !slices.ContainsFunc(all, func(c *assembledCall) bool { return !c.indexed }) {
		slices.SortStableFunc(sorted, func(a, b *assembledCall) int { return a.key - b.key })
	}
	var wire []call
	for _, c := range sorted {
		wire = append(wire, call{ID: text(c.id), Function: called{Name: text(c.name), Arguments: text(c.arguments.String())}, carried: c.provider.carried()})
	}
	return wire
}
