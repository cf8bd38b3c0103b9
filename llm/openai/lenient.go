package openai

import (
	"encoding/json"
	"strings"
)

// text is a string; null reads as "", and anything else as its own JSON text,
// so that arguments sent as an object are the text that they should have been.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(encoded []byte) error {
	var s string
	if encoded[0] != '"' && string(encoded) != "null" {
		s = string(encoded)
	} else if err := json.Unmarshal(encoded, &s); err != nil {
		return err
	}
	*t = text(s)
	return nil
}

// finish is a finish reason. The library's word for JSON's null is "null":
// unlike an absent or empty reason, it says that the generation has not ended.
type finish string

// UnmarshalJSON keeps null apart from "".
func (f *finish) UnmarshalJSON(encoded []byte) error {
	if string(encoded) == "null" {
		*f = "null"
		return nil
	}
	return (*text)(f).UnmarshalJSON(encoded)
}

// count is a whole number; what is none reads as 0.
type count int

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(encoded []byte) error {
	var n float64
	if json.Unmarshal(encoded, &n) == nil {
		*c = count(n)
	}
	return nil
}

// UnmarshalJSON never fails: nobody loses a paid answer over its bill.
func (u *usage) UnmarshalJSON(encoded []byte) error {
	type plain usage
	var p plain
	if json.Unmarshal(encoded, &p) == nil {
		*u = usage(p)
	}
	return nil
}

// spoken is a message's content: a string, or a list of parts of which those of
// type text are the content and those of type thinking are not.
type spoken struct {
	text     text
	thinking text
}

// MarshalJSON returns the text.
func (s spoken) MarshalJSON() ([]byte, error) { return encode(s.text) }

// UnmarshalJSON joins the parts of a list.
func (s *spoken) UnmarshalJSON(encoded []byte) error {
	if encoded[0] != '[' {
		return s.text.UnmarshalJSON(encoded)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     text            `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(encoded, &parts); err != nil {
		return s.text.UnmarshalJSON(encoded)
	}
	var said, thought strings.Builder
	for _, part := range parts {
		switch part.Type {
		case "text":
			said.WriteString(string(part.Text))
		case "thinking":
			var inner spoken
			if len(part.Thinking) > 0 && inner.UnmarshalJSON(part.Thinking) == nil {
				thought.WriteString(string(inner.text))
			}
		}
	}
	*s = spoken{text: text(said.String()), thinking: text(thought.String())}
	return nil
}
