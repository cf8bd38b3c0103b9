package repair

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// The two forms in which models write a tool call as text.
var (
	// tagged matches a JSON object in a tool_call tag.
	tagged = regexp.MustCompile(`(?s)^<tool_call>\s*(\{.*?\})\s*(?:</tool_call>|$)\s*`)
	// dialect matches a function tag with the name and the arguments.
	dialect = regexp.MustCompile(`(?s)^<function=([A-Za-z0-9_.-]+)[=>(]*\s*(\{.*?\})\)?>?\s*</function>\s*`)
)

// Calls returns the tool calls in a text that consists only of tool calls. Models write such texts if their server does not
// recognise the calls. Calls returns nil if the text has anything else, or if a call names a tool that is not in `tools`. It
// corrects the calls as [Reply] does.
func Calls(text string, tools []llm.ToolSpec) []llm.ToolCall {
	return Reply(llm.Reply{Message: llm.Message{Content: text}}, llm.Request{Tools: tools}).Message.ToolCalls
}

// spoken returns the tool calls in a text, without IDs. It returns nil if the text also has anything other than calls, because
// the model may only have explained a call. It also returns nil if a call names a tool that is not in `tools`. If `bare` is
// true, the text may also be one JSON object without a tag.
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
			ok = ok && llm.IsObject(call.Arguments)
		}
		if !ok {
			return nil
		}
		calls = append(calls, call)
		rest = rest[len(found[0]):]
	}
	return calls
}

// written converts a text into a tool call. The text must be a JSON object with the name and the arguments of the call. The
// arguments are the member "arguments" or "parameters". They may be an object, or a string that contains an object. written
// returns false if the text has another form, or if [resolve] finds no tool with the name.
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
			return llm.ToolCall{}, false // not a call, but an answer with a member "name"
		}
	}
	name, known := resolve(name, tools)
	if !known || given != 1 || !llm.IsObject(object) {
		return llm.ToolCall{}, false
	}
	return llm.ToolCall{Name: name, Arguments: strings.TrimSpace(object)}, true
}
