package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// text and count accept any JSON value.
type (
	text  = endpoint.Text
	count = endpoint.Count
)

func present(field json.RawMessage) bool { return endpoint.Present(field) }

// finishReason is a finish reason as an endpoint sends it. An absent or empty one is "", and the JSON value null is [unfinished]. In a
// response that is not streamed, null means that the reply is not complete, while a complete reply may have no finish reason.
type finishReason string

const unfinished finishReason = "null"

// UnmarshalJSON accepts any JSON value. It converts null into [unfinished].
func (f *finishReason) UnmarshalJSON(encoded []byte) error {
	if string(encoded) == "null" {
		*f = unfinished
		return nil
	}
	return (*text)(f).UnmarshalJSON(encoded)
}

// or chooses one of two finish reasons of the same reply: `native` if only `native` says that the reply is incomplete, and `f` in all
// other cases. For example, a gateway may send "stop" as `f` although the model wrote a malformed tool call.
func (f finishReason) or(native finishReason) finishReason {
	if finish.Class(string(f)) == "" && finish.Class(string(native)) != "" {
		return native
	}
	return f
}

// calls are the tool calls of a message. In JSON, they are a list. The decoder also accepts a single call without a list. The value null,
// false, an empty object, an empty string and an empty list mean that there are no calls.
type calls []call

// UnmarshalJSON accepts a list, a single call, and the values for no calls. Any other value is an error.
func (c *calls) UnmarshalJSON(encoded []byte) error {
	if *c = nil; !present(encoded) {
		return nil
	}
	return decodeList(encoded, (*[]call)(c))
}

// decodeList decodes a JSON list. It takes an object for a list with this object.
func decodeList[T any](encoded []byte, list *[]T) error {
	if encoded[0] == '{' {
		*list = make([]T, 1)
		return json.Unmarshal(encoded, &(*list)[0])
	}
	return json.Unmarshal(encoded, list)
}

// spoken is the content of a message. In JSON, it is a string or a list of parts. Parts of unknown types are ignored.
type spoken struct {
	// text is the string, or the joined parts of the types [textKinds].
	text text
	// refusal has the joined parts of type "refusal".
	refusal text
	// thinking has the joined parts of type "thinking".
	thinking text
}

// UnmarshalJSON accepts any JSON value. It joins the parts of a list. Any value that is not a list of parts becomes the text.
func (s *spoken) UnmarshalJSON(encoded []byte) error {
	if encoded[0] != '[' {
		return s.text.UnmarshalJSON(encoded)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     text            `json:"text"`
		Refusal  text            `json:"refusal"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(encoded, &parts); err != nil {
		return s.text.UnmarshalJSON(encoded)
	}
	var said, refused, thought strings.Builder
	for _, part := range parts {
		switch {
		case slices.Contains(textKinds, part.Type):
			said.WriteString(string(part.Text))
		case part.Type == "refusal":
			refused.WriteString(string(part.Refusal))
		case part.Type == "thinking":
			thought.WriteString(innerText(part.Thinking))
		}
	}
	*s = spoken{text: text(said.String()), refusal: text(refused.String()), thinking: text(thought.String())}
	return nil
}

// innerText returns the text in a value that is a string or a list of texts. It does not look deeper into the value.
func innerText(encoded json.RawMessage) string {
	var whole string
	if json.Unmarshal(encoded, &whole) == nil {
		return whole
	}
	var list []struct {
		Text text `json:"text"`
	}
	_ = json.Unmarshal(encoded, &list) // what is not a list has no text
	var all strings.Builder
	for _, part := range list {
		all.WriteString(string(part.Text))
	}
	return all.String()
}
