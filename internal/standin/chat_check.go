package standin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// toolName matches the tool names that OpenAI accepts.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check checks a request as OpenAI does. It returns OpenAI's error response for an invalid request; nil for a valid one.
func (r *request) check() *refusal {
	switch {
	case r.Model == "":
		return invalid("model", "you must provide a model parameter")
	case len(r.Messages) == 0:
		return invalid("messages", "[] is too short - 'messages'")
	case r.MaxTokens != 0 && r.MaxCompletionTokens != 0:
		return invalid("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case len(r.Tools) == 0 && r.ToolChoice != nil:
		return invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	case len(r.Tools) == 0 && r.ParallelToolCalls != nil:
		return invalid("parallel_tool_calls", "'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	if refused := r.checkTools(); refused != nil {
		return refused
	}
	for i, m := range r.Messages {
		if refused := m.check(fmt.Sprintf("messages[%d]", i)); refused != nil {
			return refused
		}
	}
	return r.checkOrder()
}

// checkTools returns the error response for the first invalid tool; nil if all tools are valid.
func (r *request) checkTools() *refusal {
	var names []string
	for i, t := range r.Tools {
		at, name := fmt.Sprintf("tools[%d].function", i), t.Function.Name
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case t.Type != "function":
			return invalid(fmt.Sprintf("tools[%d].type", i), "Invalid value: %q. Supported values are: 'function'.", t.Type)
		case !toolName.MatchString(name):
			return badName(at+".name", name)
		case slices.Contains(names, name):
			return invalid(at+".name", "Tool names must be unique: %q is there twice.", name)
		case t.Function.Parameters != nil && (json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object"):
			return invalid(at+".parameters", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'.", name, schema.Type)
		}
		names = append(names, name)
	}
	return nil
}

// check checks one message without regard to the other messages. It returns the error response for an invalid message; nil for
// a valid one. `at` is the path of the message in the request, such as "messages[0]". The error response contains this path.
func (m message) check(at string) *refusal {
	var text string
	var list []json.RawMessage
	readable := m.Content != nil && string(m.Content) != "null" &&
		(json.Unmarshal(m.Content, &text) == nil || json.Unmarshal(m.Content, &list) == nil && len(list) > 0)
	absent := m.Content == nil || string(m.Content) == "null"

	switch m.Role {
	case "system", "developer", "user", "tool":
		if m.Content == nil {
			return missing(at + ".content")
		}
		if !readable {
			return invalid(at+".content", "Invalid type for '%s.content': expected a string or a list of parts, got %s.", at, m.Content)
		}
		if m.Role == "tool" && (m.ToolCallID == nil || *m.ToolCallID == "") {
			return missing(at + ".tool_call_id")
		}
		if m.ToolCalls != nil {
			return invalid(at+".tool_calls", "Only assistant messages have tool calls.")
		}
	case "assistant":
		if m.ToolCalls != nil && len(m.ToolCalls) == 0 {
			return invalid(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1.", at)
		}
		if absent && m.ToolCalls == nil {
			return missing(at + ".content")
		}
		if !absent && !readable {
			return invalid(at+".content", "Invalid type for '%s.content'.", at)
		}
	default:
		return invalid(at+".role", "Invalid value: %q. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.", m.Role)
	}
	return m.checkCalls(at)
}

// checkCalls checks the tool calls of a message. It returns the error response for the first invalid call; nil if all calls
// are valid. `at` is the path of the message in the request, such as "messages[0]". The error response contains this path.
func (m message) checkCalls(at string) *refusal {
	var ids []string
	for i, call := range m.ToolCalls {
		at, arguments := fmt.Sprintf("%s.tool_calls[%d]", at, i), call.Function.Arguments
		switch {
		case call.ID == "":
			return missing(at + ".id")
		case slices.Contains(ids, call.ID):
			return invalid(at+".id", "Duplicate value for 'tool_call_id' of %q.", call.ID)
		case call.Type != "function":
			return invalid(at+".type", "Invalid value: %q. Supported values are: 'function'.", call.Type)
		case !toolName.MatchString(call.Function.Name):
			return badName(at+".function.name", call.Function.Name)
		case arguments == nil:
			return missing(at + ".function.arguments")
		case !llm.IsObject(*arguments):
			return invalid(at+".function.arguments", "The arguments of call %q are not a JSON object: %s", call.ID, *arguments)
		}
		ids = append(ids, call.ID)
	}
	return nil
}

// checkOrder checks that each tool call has exactly one tool message. The tool messages must come directly after the message
// with the calls. checkOrder returns the error response for the first mistake; nil if there is none.
func (r *request) checkOrder() *refusal {
	var open []string // IDs of the calls in the last assistant message that have no result yet
	for i, m := range r.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, *m.ToolCallID)
			if at < 0 {
				return invalid(fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.") //nolint:misspell // OpenAI's spelling
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return unanswered(i, open)
		}
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(len(r.Messages), open)
	}
	return nil
}

// unanswered returns the error response for tool calls without a result. `open` has the IDs of these calls. A tool message is
// missing at index `i` of the messages.
func unanswered(i int, open []string) *refusal {
	return invalid(fmt.Sprintf("messages.[%d].role", i), "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
}

// missing returns the error response for a request without a required field. `param` is the path of the field in the request.
func missing(param string) *refusal {
	r := invalid(param, "Missing required parameter: '%s'.", param)
	r.code = "missing_required_parameter"
	return r
}

// badName returns the error response for a tool name that OpenAI does not accept. `param` is the path of the name in the
// request.
func badName(param, name string) *refusal {
	return invalid(param, "Invalid '%s': %q does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' and has at most 64 characters.", param, name)
}
