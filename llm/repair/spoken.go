package repair

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// fencedCall matches a text that is one code block of a kind in which models write calls.
var fencedCall = regexp.MustCompile("(?s)^```(json|tool_code|tool_call)?[ \\t]*\\r?\\n(.*?)\\s*```$")

// Calls returns the tool calls in a text that consists only of tool calls. Models write such texts if their server does not
// recognise the calls. Calls returns nil if the text has anything else, or if a call names a tool that is not among the given
// tools. It corrects the calls as [Reply] does.
func Calls(text string, tools []llm.ToolSpec) []llm.ToolCall {
	m := Reply(llm.Reply{Message: llm.Message{Content: text}}, llm.Request{Tools: tools}).Message
	if m.Content != "" || slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return !offered(c.Name, tools) }) {
		return nil
	}
	return m.ToolCalls
}

func offered(name string, tools []llm.ToolSpec) bool {
	return slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return t.Name == name })
}

// spoken returns the tool calls in a text, without IDs. It returns nil if the text also has anything other than calls. In such a text,
// the model may only quote a call from a file or a tool result, and such a call must never run.
//
// If a call is in the markup of a model, spoken returns it even if it names none of the given tools or its arguments cannot be read.
// The agent refuses the call, and the model reads why. If `bare` is true, the calls may also have no markup: they may be JSON or
// Python, also in a code fence. Such calls must name given tools, because other answers can have this form, too.
func spoken(text string, tools []llm.ToolSpec, bare bool) []llm.ToolCall {
	text = strings.TrimSpace(text)
	if len(tools) == 0 {
		return nil
	}
	if bare {
		if calls := unmarked(text, tools); calls != nil {
			return calls
		}
	}
	if !opening.MatchString(text) {
		return nil
	}
	found, after := readCalls(text)
	if strings.TrimSpace(after) != "" {
		return nil
	}
	return toolCalls(found, tools, false)
}

// unmarked returns the calls in a text without markup. If a call names none of the given tools, unmarked returns nil.
func unmarked(text string, tools []llm.ToolSpec) []llm.ToolCall {
	python := strings.HasPrefix(text, "[") // Llama writes a list
	if fenced := fencedCall.FindStringSubmatch(text); fenced != nil {
		python, text = fenced[1] == "tool_code", fenced[2]
	}
	c := cursor{text}
	found, ok := listedCalls(&c)
	if !ok && python {
		c = cursor{text}
		found, ok = pythonCalls(&c)
	}
	if c.space(); !ok || c.rest != "" {
		return nil
	}
	return toolCalls(found, tools, true)
}

// toolCalls converts calls into tool calls without IDs. It returns nil if the function object cannot convert the parameters of a call. If
// `known` is true, it also returns nil if a call names none of the given tools.
func toolCalls(found []spokenCall, tools []llm.ToolSpec, known bool) []llm.ToolCall {
	var calls []llm.ToolCall
	for _, f := range found {
		call, named, ok := f.call(tools)
		if !ok || known && !named {
			return nil
		}
		calls = append(calls, call)
	}
	return calls
}

// readCalls reads calls at the beginning of a text. It returns them and the text after them.
func readCalls(text string) (calls []spokenCall, rest string) {
	c := cursor{text}
	rest = text // a token that begins a call is read only together with the call
next:
	for {
		for _, read := range forms {
			ahead := c
			if found, ok := read(&ahead); ok {
				calls, c, rest = append(calls, found...), ahead, ahead.rest
				continue next
			}
		}
		switch {
		case c.token(endTokens...):
			rest = c.rest
		case !c.token(beginTokens...):
			return calls, rest
		}
	}
}

// call converts `s` into a tool call without an ID. `known` says whether the call names one of the given tools. `ok` is false if the
// function object cannot convert the parameters of the call.
func (s spokenCall) call(tools []llm.ToolSpec) (call llm.ToolCall, known, ok bool) {
	call = llm.ToolCall{Arguments: strings.TrimSpace(s.arguments)}
	call.Name, known = resolve(s.name, tools)
	if call.Arguments != "" {
		return call, known, true
	}
	var tool llm.ToolSpec
	if at := slices.IndexFunc(tools, func(t llm.ToolSpec) bool { return t.Name == call.Name }); at >= 0 {
		tool = tools[at]
	}
	call.Arguments, ok = object(s.parameters, tool)
	return call, known, ok
}

// maxWrapped is the largest number of JSON values around the object of a call.
const maxWrapped = 3

// written converts a JSON value into tool calls. The value is an object with the name and the arguments of a call, an object of
// OpenAI's API that contains such objects, or a list. The arguments may be encoded as a string. written returns false for any other
// value. `depth` is the number of JSON values around the value.
func written(encoded json.RawMessage, depth int) ([]spokenCall, bool) {
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	if depth > maxWrapped || json.Unmarshal(encoded, &list) != nil && json.Unmarshal(encoded, &fields) != nil {
		return nil, false
	}
	var calls []spokenCall
	for _, element := range list {
		inner, ok := written(element, depth+1)
		if !ok {
			return nil, false
		}
		calls = append(calls, inner...)
	}
	if fields == nil {
		return calls, true
	}
	var call spokenCall
	var named, given int
	for key, value := range fields {
		switch key {
		case "name", "tool_name", "function", "tool_calls", "function_call":
			named++
			var ok bool
			if key == "name" || key == "tool_name" || value[0] == '"' {
				ok = json.Unmarshal(value, &call.name) == nil && call.name != "" && key != "tool_calls"
			} else if calls, ok = written(value, depth+1); ok {
				given++
			}
			if !ok {
				return nil, false
			}
		case "arguments", "parameters":
			given++
			if call.arguments = string(value); value[0] == '"' {
				_ = json.Unmarshal(value, &call.arguments)
			}
			if !llm.IsObject(call.arguments) {
				return nil, false
			}
		case "type", "id", "index", "role", "tool_call_id":
		case "content":
			if present := string(value); present != "null" && present != `""` {
				return nil, false
			}
		default:
			return nil, false // not a call, but an answer with a member "name"
		}
	}
	switch {
	case named != 1 || given != 1:
		return nil, false
	case call.name == "": // the calls are in another object
		return calls, len(calls) > 0 && call.arguments == ""
	}
	return []spokenCall{call}, true
}
