package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// maxResponsesCallID is the maximum length of a call ID in the Responses API, in characters.
const maxResponsesCallID = 64

// check checks a request as OpenAI does. It returns OpenAI's error response for an invalid request; nil for a valid one. The wordings
// are those of OpenAI's reference of the Responses API, and of public reports that quote the API's errors.
func (r *responsesRequest) check() *refusal {
	switch {
	case r.Model == "":
		return missing("model")
	case len(r.Input) == 0:
		return missing("input")
	case r.extra["messages"] != nil:
		return unsupported("messages", "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.")
	case r.extra["previous_response_id"] != nil:
		return invalid("previous_response_id", "Previous response with id %s not found.", r.extra["previous_response_id"])
	case r.extra["stream_options"] != nil && !r.Stream:
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case len(r.Tools) == 0 && r.ToolChoice != nil && string(r.ToolChoice) != `"auto"` && string(r.ToolChoice) != `"none"`:
		return invalid("tool_choice", "Tool choices other than 'none' or 'auto' require tools.")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 16:
		return invalid("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxOutputTokens)
	}
	if refused := checkCacheKey(r.extra["prompt_cache_key"]); refused != nil {
		return refused
	}
	for _, name := range []string{"seed", "response_format", "max_tokens", "max_completion_tokens", "reasoning_effort"} {
		if r.extra[name] != nil {
			return unsupported(name, "Unknown parameter: '%s'.", name)
		}
	}
	for _, check := range []func() *refusal{r.checkTools, r.checkFormat, r.checkItems, r.checkCalls, r.checkReasoning} {
		if refused := check(); refused != nil {
			return refused
		}
	}
	return nil
}

// unsupported returns the error response for a parameter that the API does not have.
func unsupported(param, format string, args ...any) *refusal {
	r := invalid(param, format, args...)
	r.code = "unsupported_parameter"
	return r
}

func (r *responsesRequest) checkTools() *refusal {
	var names []string
	for i, t := range r.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return invalid(at+".type", "Invalid value: '%s'.", t.Type)
		case t.Name == "":
			return missing(at + ".name")
		case !toolName.MatchString(t.Name):
			return badName(at+".name", t.Name)
		case slices.Contains(names, t.Name):
			return invalid(at+".name", "Tool names must be unique: %q is there twice.", t.Name)
		case t.Parameters == nil:
			return missing(at + ".parameters")
		case t.Strict == nil || *t.Strict:
			// If `strict` is true or absent, the API requires every property. The tools of the tests have optional properties.
			return invalid(at+".parameters", "Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name)
		}
		if wrong := checkObjectSchema(t.Parameters); wrong != "" {
			return invalid(at+".parameters", "Invalid schema for function '%s': In context=(), %s.", t.Name, wrong)
		}
		names = append(names, t.Name)
	}
	if name := r.toolChoice(); name == "" && r.ToolChoice != nil {
		return missing("tool_choice.name")
	} else if len(r.Tools) > 0 && !slices.Contains(append(names, "", "auto", "none", "required"), name) {
		return invalid("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
	}
	return nil
}

// checkObjectSchema returns what is wrong with a schema that must describe an object; empty if nothing is wrong.
func checkObjectSchema(schema json.RawMessage) string {
	var object struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	switch err := json.Unmarshal(schema, &object); {
	case err != nil || object.Type != "object":
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'", object.Type)
	case object.Properties == nil:
		return "object schema missing properties"
	}
	return ""
}

func (r *responsesRequest) checkFormat() *refusal {
	f := r.Text.Format
	switch {
	case f == nil || f.Type != "json_schema":
		return nil
	case f.Name == "":
		return missing("text.format.name")
	case f.Schema == nil:
		return missing("text.format.schema")
	}
	return nil
}

// checkItems checks each item without regard to the other items. In the functions that it calls, `at` is the path of the item or
// content in the request.
func (r *responsesRequest) checkItems() *refusal {
	for i, item := range r.Input {
		at := fmt.Sprintf("input[%d]", i)
		var refused *refusal
		switch {
		case item.message():
			refused = item.checkMessage(at)
		case item.Type == "function_call":
			refused = item.checkCall(at)
		case item.Type == "function_call_output":
			if item.Output == nil || string(item.Output) == "null" {
				refused = missing(at + ".output")
			} else if refused = checkCallID(at, item.CallID); refused == nil {
				refused = checkParts(at+".output", item.Output, "input_text", "input_image")
			}
		case item.Type == "reasoning":
			if item.Summary == nil {
				refused = missing(at + ".summary")
			}
		default:
			refused = invalid(at+".type", "Invalid value: '%s'.", item.Type)
		}
		// An item of reasoning has its content, so the API does not need to find it by its ID.
		if stored := r.Store == nil || *r.Store; refused == nil && !stored && item.ID != nil && item.Type != "reasoning" {
			refused = notStored(*item.ID)
		}
		if refused != nil {
			return refused
		}
	}
	return nil
}

// notStored returns the error response for an item that the API would have to find by its ID.
func notStored(id string) *refusal {
	r := invalid("input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
	r.status = http.StatusNotFound
	return r
}

func (i responsesItem) checkMessage(at string) *refusal {
	switch i.Role {
	case "system", "developer", "user":
		if i.Phase != nil {
			return invalid(at+".phase", "Unknown parameter: '%s.phase'.", at)
		}
		return checkParts(at+".content", i.Content, "input_text", "input_image")
	case "assistant":
		if i.Phase != nil && *i.Phase != "commentary" && *i.Phase != "final_answer" {
			return invalid(at+".phase", "Invalid value: '%s'. Supported values are: 'commentary' and 'final_answer'.", *i.Phase)
		}
		return checkParts(at+".content", i.Content, "output_text", "refusal")
	}
	return invalid(at+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", i.Role)
}

// checkParts checks a content: a string, or parts of the given types.
func checkParts(at string, content json.RawMessage, types ...string) *refusal {
	var text string
	var parts []responsesPart
	switch {
	case content == nil || string(content) == "null":
		return missing(at)
	case json.Unmarshal(content, &text) == nil:
		return nil
	case json.Unmarshal(content, &parts) != nil:
		return invalid(at, "Invalid type for '%s': expected one of an array of objects or string.", at)
	}
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case !slices.Contains(types, p.Type):
			return invalid(at, "Invalid value: '%s'. Supported values are: %q.", p.Type, types)
		case p.Type == "input_image" && p.ImageURL == nil:
			return missing(at + ".image_url")
		case p.Type != "input_image" && p.Text == nil:
			return missing(at + ".text")
		}
	}
	return nil
}

func (i responsesItem) checkCall(at string) *refusal {
	switch {
	case i.Name == nil:
		return missing(at + ".name")
	case !toolName.MatchString(*i.Name):
		return badName(at+".name", *i.Name)
	case i.Arguments == nil:
		return missing(at + ".arguments")
	case !llm.IsObject(*i.Arguments):
		return invalid(at+".arguments", "The arguments of call %q are not a JSON object: %s", value(i.CallID), *i.Arguments)
	}
	return checkCallID(at, i.CallID)
}

func checkCallID(at string, id *string) *refusal {
	switch {
	case id == nil:
		return missing(at + ".call_id")
	case *id == "":
		return invalid(at+".call_id", "Invalid '%s.call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.", at)
	case len([]rune(*id)) > maxResponsesCallID:
		r := invalid(at+".call_id", "Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, len([]rune(*id)))
		r.code = "string_above_max_length"
		return r
	}
	return nil
}

// checkCalls checks that each function call has exactly one output after it, and that each call ID is unique.
func (r *responsesRequest) checkCalls() *refusal {
	var called, answered []string
	for i, item := range r.Input {
		param := fmt.Sprintf("input[%d]", i)
		switch item.Type {
		case "function_call":
			if slices.Contains(called, *item.CallID) {
				return invalid(param, "Duplicate 'call_id': %s", *item.CallID)
			}
			called = append(called, *item.CallID)
		case "function_call_output":
			if !slices.Contains(called, *item.CallID) {
				return invalid("input", "No tool call found for function call output with call_id %s.", *item.CallID)
			}
			if slices.Contains(answered, *item.CallID) {
				return invalid(param, "Duplicate function_call_output for call_id '%s'. Each function_call must have exactly one matching function_call_output", *item.CallID)
			}
			answered = append(answered, *item.CallID)
		}
	}
	for _, id := range called {
		if !slices.Contains(answered, id) {
			return invalid("input", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

// checkReasoning checks the items of reasoning: their encrypted content is unchanged, and an item of the assistant follows.
func (r *responsesRequest) checkReasoning() *refusal {
	for i, item := range r.Input {
		if item.Type != "reasoning" {
			continue
		}
		switch id := value(item.ID); {
		case item.Encrypted == nil:
			return notStored(id)
		case !decrypts(id, *item.Encrypted):
			refused := invalid("", "The encrypted content %.6s... could not be verified. Reason: Encrypted content could not be decrypted or parsed.", *item.Encrypted)
			refused.code = "invalid_encrypted_content"
			return refused
		}
		next := i + 1
		for next < len(r.Input) && r.Input[next].Type == "reasoning" {
			next++
		}
		if next == len(r.Input) || !r.Input[next].assistant() {
			return invalid("input", "Item '%s' of type 'reasoning' was provided without its required following item.", value(item.ID))
		}
	}
	return nil
}
