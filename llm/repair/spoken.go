package repair

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

var (
	tagged  = regexp.MustCompile(`(?s)^<tool_call>\s*(\{.*?\})\s*(?:</tool_call>|$)\s*`)
	dialect = regexp.MustCompile(`(?s)^<function=([A-Za-z0-9_.-]+)[=>(]*\s*(\{.*?\})\)?>?\s*</function>\s*`)
)

// Calls returns the tool calls that text consists of, in one of the forms in
// which models write them when their server does not recognise them as calls;
// nil when there is anything else in it, or a tool that is not offered.
func Calls(text string, tools []llm.ToolSpec) []llm.ToolCall {
	return Reply(llm.Reply{Message: llm.Message{Content: text}}, llm.Request{Tools: tools}).Message.ToolCalls
}

// spoken returns the calls that text consists of. A text that merely holds a
// call is an answer about calls. bare allows JSON without a tag around it.
func spoken(text string, tools []llm.ToolSpec, bare bool) []llm.ToolCall {
	rest := strings.TrimSpace(text)
	if len(tools) == 0 || !strings.HasPrefix(rest, "<") && !strings.HasPrefix(rest, "{") {
		return nil
	}
	if bare && strings.HasPrefix(rest, "{") {
		if call, ok := written(rest, tools); ok {
			return []llm.ToolCall{call}
		}
		return nil
	}
	var calls []llm.ToolCall
	for rest != "" {
		var call llm.ToolCall
		var ok bool
		var found []string
		if found = tagged.FindStringSubmatch(rest); found != nil {
			call, ok = written(found[1], tools)
		} else if found = dialect.FindStringSubmatch(rest); found != nil {
			call.Name, ok = resolve(found[1], tools)
			call.Arguments = found[2]
			ok = ok && isObject(call.Arguments)
		}
		if !ok {
			return nil
		}
		calls = append(calls, call)
		rest = rest[len(found[0]):]
	}
	return calls
}

// written reads a call that is a JSON object of a name and arguments.
func written(text string, tools []llm.ToolSpec) (llm.ToolCall, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		return llm.ToolCall{}, false
	}
	var name, object string
	var given int
	for key, value := range fields {
		switch key {
		case "name":
			if json.Unmarshal(value, &name) != nil {
				return llm.ToolCall{}, false
			}
		case "arguments", "parameters":
			given++
			if object = string(value); value[0] == '"' {
				_ = json.Unmarshal(value, &object)
			}
		case "type", "id":
		default:
			return llm.ToolCall{}, false // an answer that has a name in it
		}
	}
	name, known := resolve(name, tools)
	if !known || given != 1 || !isObject(object) {
		return llm.ToolCall{}, false
	}
	return llm.ToolCall{Name: name, Arguments: strings.TrimSpace(object)}, true
}
