package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/exact"
)

// decodeForeign decodes JSON of a program that may send more than this package knows.
func decodeForeign(data []byte, v any) error { return exact.Decode(data, v, exact.Foreign) }

// readRequest decodes the body of a request.
func readRequest(req *http.Request, v any) error {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if err := decodeForeign(data, v); err != nil {
		return invalid("", "the request body is not the JSON that is expected: "+err.Error())
	}
	return nil
}

// content is the content of a message: a text, or parts.
type content []contentPart

// contentPart is a part of a message, in the form of either API.
type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // a text, or an object with the field url
}

// UnmarshalJSON reads a text, null or an array of parts.
func (c *content) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); {
	case bytes.Equal(data, []byte("null")):
		return nil
	case bytes.HasPrefix(data, []byte(`"`)):
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var parts []contentPart
	if err := decodeForeign(data, &parts); err != nil {
		return err
	}
	*c = parts
	return nil
}

// text returns the texts of the parts.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if text := p.Text + p.Refusal; text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// images returns the addresses of the images. `param` names the field for an error.
func (c content) images(param string) ([]string, error) {
	var all []string
	for i, p := range c {
		switch p.Type {
		case "text", "input_text", "output_text", "refusal":
		case "image_url", "input_image":
			var url string
			var object struct {
				URL string `json:"url"`
			}
			if json.Unmarshal(p.ImageURL, &url) != nil && decodeForeign(p.ImageURL, &object) == nil {
				url = object.URL
			}
			if url == "" {
				return nil, invalid(fmt.Sprintf("%s.content[%d]", param, i), "an image needs the field image_url, with an address or a data: URL; files that were uploaded before are not known here")
			}
			all = append(all, url)
		default:
			return nil, unsupported(fmt.Sprintf("%s.content[%d].type", param, i), "an agent takes text and images, and no "+quoted(p.Type))
		}
	}
	return all, nil
}

// inputItem is an item of the input of a response.
type inputItem struct {
	Type              string          `json:"type"`
	ID                string          `json:"id"`
	Role              string          `json:"role"`
	Content           content         `json:"content"`
	CallID            string          `json:"call_id"`
	Output            json.RawMessage `json:"output"`
	ApprovalRequestID string          `json:"approval_request_id"`
	Approve           *bool           `json:"approve"`
	Reason            string          `json:"reason"`
}

// response returns the response to which the item belongs, if it is one of an agent's.
func (i inputItem) response() (responseRef, bool) {
	if of, _, ok := parseItemID(i.ID); ok {
		return of, true
	}
	of, _, ok := parseItemID(i.CallID)
	return of, ok
}

// call returns the key of the call to which the item belongs.
func (i inputItem) call() agent.Key {
	if _, key, ok := parseItemID(i.CallID); ok {
		return agent.Key(key)
	}
	return agent.Key(i.CallID)
}

type input []inputItem

// UnmarshalJSON reads a text, or an array of items.
func (in *input) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte(`"`)) {
		var c content
		if err := c.UnmarshalJSON(data); err != nil {
			return err
		}
		*in = input{{Type: "message", Role: "user", Content: c}}
		return nil
	}
	var items []inputItem
	if err := decodeForeign(data, &items); err != nil {
		return err
	}
	*in = items
	return nil
}

// settled is what the client says about a call that waits for it.
type settled struct {
	key      agent.Key
	decision agent.Decision
}

// given is what the input of a response gives to an agent: at most one message, and what settles calls.
type given struct {
	text         string
	images       []string
	instructions string
	settled      []settled
	// after is the response whose items came last; what the agent has heard before them is left out. It has no agent if no item is known.
	after responseRef
	// turns are what was said before, as the client tells it.
	turns []turn
}

func (g given) hasMessage() bool { return g.text != "" || len(g.images) > 0 }

// read returns what the input gives to an agent.
func (in input) read() (g given, err error) {
	for i, item := range in {
		param := fmt.Sprintf("input[%d]", i)
		if of, known := item.response(); known && of != g.after {
			g = given{instructions: g.instructions, after: of}
		}
		switch {
		case item.Type == "mcp_approval_response":
			if item.Approve == nil || !strings.HasPrefix(item.ApprovalRequestID, approvalPrefix) {
				return g, invalid(param, "an approval response needs approve and the ID of the approval request")
			}
			key := agent.Key(strings.TrimPrefix(item.ApprovalRequestID, approvalPrefix))
			reason := item.Reason
			if *item.Approve {
				reason = ""
			}
			g.settled = append(g.settled, settled{key, agent.Decision{Approve: *item.Approve, Reason: reason}})
		case item.Type == "function_call_output":
			var text content
			if err := text.UnmarshalJSON(item.Output); err != nil || item.CallID == "" {
				return g, invalid(param, "a function call output needs call_id and output")
			}
			g.settled = append(g.settled, settled{item.call(), agent.Decision{Result: &agent.GivenResult{Content: text.text()}}})
		case item.Role == "system" || item.Role == "developer":
			g.instructions = strings.TrimPrefix(g.instructions+"\n\n"+item.Content.text(), "\n\n")
		case item.Role == "user":
			images, err := item.Content.images(param)
			if err != nil {
				return g, err
			}
			g.text, g.images = joined(g.text, item.Content.text()), append(g.images, images...)
		case item.Role == "assistant":
			g.heard(item.Content.text())
		case item.Type == "" || item.Type == "message":
			return g, invalid(param+".role", "the role must be user, assistant, system or developer")
		case strings.HasSuffix(item.Type, "_call") || item.Type == "reasoning" || item.Type == "mcp_approval_request" || item.Type == "item_reference" || strings.HasSuffix(item.Type, "_call_output") || item.Type == "mcp_list_tools":
			// What the agent itself has said comes back, and it knows it.
		default:
			return g, unsupported(param+".type", "an agent takes no input of the type "+quoted(item.Type))
		}
	}
	return g, nil
}

// heard adds what the assistant has said.
func (g *given) heard(text string) {
	switch n := len(g.turns); {
	case g.hasMessage():
		g.turns = append(g.turns, turn{text: g.text, images: g.images, answered: text})
		g.text, g.images = "", nil
	case n > 0:
		g.turns[n-1].answered = joined(g.turns[n-1].answered, text)
	default:
		g.instructions = joined(g.instructions, begunByAssistant+text)
	}
}

// begunByAssistant introduces what the assistant has said before the first message of the user.
const begunByAssistant = "You have begun the conversation with these words: "

// clientTools reads the tools of a request.
func clientTools(tools []requestTool) ([]agent.ClientTool, error) {
	var all []agent.ClientTool
	for i, t := range tools {
		if t.Type != "function" {
			return nil, unsupported(fmt.Sprintf("tools[%d].type", i), "only tools of the type function can be passed on to the client; the agent has its own tools besides, not "+quoted(t.Type))
		}
		if t.Function != nil {
			t.Name, t.Description, t.Parameters = t.Function.Name, t.Function.Description, t.Function.Parameters
		}
		if bytes.Equal(bytes.TrimSpace(t.Parameters), []byte("null")) {
			t.Parameters = nil
		}
		all = append(all, agent.ClientTool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	return all, nil
}

// requestTool is a tool in a request of either API.
type requestTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Function    *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// formatOf returns the JSON schema for the format of an answer; empty for text.
func formatOf(param string, f *responseFormat) (schema json.RawMessage, name string, err error) {
	if f == nil {
		return nil, "", nil
	}
	if f.JSONSchema != nil {
		f.Name, f.Schema = f.JSONSchema.Name, f.JSONSchema.Schema
	}
	switch f.Type {
	case "", "text":
		return nil, "", nil
	case "json_object":
		return json.RawMessage(`{"type":"object"}`), "", nil
	case "json_schema":
		if len(f.Schema) == 0 {
			return nil, "", invalid(param, "a format of the type json_schema needs a schema")
		}
		return f.Schema, f.Name, nil
	}
	return nil, "", unsupported(param+".type", "the format must be text, json_object or json_schema, and not "+quoted(f.Type))
}

type responseFormat struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Schema     json.RawMessage `json:"schema"`
	JSONSchema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}
