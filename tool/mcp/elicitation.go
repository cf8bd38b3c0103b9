package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/tool"
)

// A server of the protocol version 2026-07-28 can answer a tool call with the result type "input_required". Such a result has
// questions to a person, called elicitations, and a text that the client sends back with the answers. The tool call has then ended, so
// no connection has to stay open while the person thinks. In earlier versions, the server asks during the call. This package does not
// support that: it does not offer the capability to such servers.

// inputRequest is one question in a result with the type "input_required".
type inputRequest struct {
	Method string `json:"method"`
	Params struct {
		Mode            string          `json:"mode"` // "form", "url", or empty for "form"
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
		URL             string          `json:"url"`
	} `json:"params"`
}

// asked is what this package has to know about a question when the answer comes. It travels in the field State of [tool.Question].
type asked struct {
	ID           string          `json:"id"` // the server's name for the question
	Message      string          `json:"message"`
	Schema       json.RawMessage `json:"schema,omitempty"`
	URL          string          `json:"url,omitempty"`
	RequestState string          `json:"request_state,omitempty"`
}

// field is a property of the schema of a form. MCP allows only simple types.
type field struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
	OneOf       []struct {
		Const any    `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// elicit returns the question in a result with the type "input_required". If there is no question that a person can answer here,
// `problem` says why.
func elicit(requests map[string]inputRequest, requestState string) (q *tool.Question, problem string) {
	switch {
	case len(requests) == 0:
		return nil, "the tool asks for input, but has no question"
	case len(requests) > 1:
		return nil, fmt.Sprintf("the tool asks for %d inputs at once, and only one question to a person can be answered here", len(requests))
	}
	id := slices.Collect(maps.Keys(requests))[0]
	r := requests[id]
	a := asked{ID: id, Message: r.Params.Message, RequestState: requestState}
	switch {
	case r.Method != "elicitation/create":
		return nil, fmt.Sprintf("the tool asks for the input %q, which cannot be given here", r.Method)
	case r.Params.Mode == "url":
		if u, err := url.Parse(r.Params.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, "the tool asks a person to open an address that is no web address"
		}
		a.URL = r.Params.URL
	case r.Params.Mode != "" && r.Params.Mode != "form":
		return nil, fmt.Sprintf("the tool asks a person in the mode %q, which is not supported here", r.Params.Mode)
	default:
		if a.Schema = r.Params.RequestedSchema; len(a.Schema) > 0 && tool.CheckSchema(a.Schema) != nil {
			return nil, "the tool asks a person, but the schema of the answer is not valid"
		}
	}
	return a.question(""), ""
}

// question returns the question for a person. `problem` says why the last answer did not fit; empty if there was none.
func (a asked) question(problem string) *tool.Question {
	state, _ := json.Marshal(a) // all fields can be encoded
	q := &tool.Question{Text: a.Message, State: string(state)}
	fields := a.fields()
	switch {
	case a.URL != "":
		q.Text += "\nOpen this address, if you trust it: " + a.URL
		q.Choices = []string{"done", "no"}
	case len(fields) == 0:
		q.Choices = []string{"yes", "no"}
	case len(fields) == 1:
		for name, f := range fields {
			q.Text += "\n" + f.line(name)
			q.Choices = f.choices()
		}
	default:
		q.Text += "\nAnswer with a JSON object of these fields:"
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			f := fields[name]
			q.Text += "\n" + f.line(name)
			if choices := f.choices(); len(choices) > 0 {
				q.Text += "; one of " + strings.Join(choices, ", ")
			}
		}
	}
	if problem != "" {
		q.Text = "The answer does not fit: " + problem + "\n" + q.Text
	}
	return q
}

func (a asked) fields() map[string]field {
	var schema struct {
		Properties map[string]field `json:"properties"`
	}
	_ = exact.Decode(a.Schema, &schema, exact.Foreign) // a schema that cannot be read has no fields
	return schema.Properties
}

func (f field) line(name string) string {
	line := name
	if f.Title != "" && f.Title != name {
		line += " – " + f.Title
	}
	if f.Type != "" {
		line += " (" + f.Type + ")"
	}
	if f.Description != "" {
		line += ": " + f.Description
	}
	return line
}

// choices returns the values that the field can have: those of a list in the schema, or yes and no for a boolean. It returns nil for any
// other field.
func (f field) choices() []string {
	var choices []string
	for _, v := range f.Enum {
		choices = append(choices, fmt.Sprint(v))
	}
	for _, o := range f.OneOf {
		choices = append(choices, fmt.Sprint(o.Const))
	}
	if f.Type == "boolean" {
		return []string{"yes", "no"}
	}
	return choices
}

// response converts the answer of a person into the response to the server. If the answer does not fit the schema, `problem` says why.
func (a asked) response(answer tool.Answer) (response *sdk.ElicitResult, problem string) {
	text := strings.TrimSpace(answer.Text)
	if answer.Declined {
		return &sdk.ElicitResult{Action: "decline"}, ""
	}
	fields := a.fields()
	if a.URL != "" || len(fields) == 0 {
		switch strings.ToLower(text) {
		case "yes", "y", "ok", "done":
			return &sdk.ElicitResult{Action: "accept"}, ""
		case "no", "n":
			return &sdk.ElicitResult{Action: "decline"}, ""
		}
		return nil, "answer yes or no"
	}
	if len(fields) == 1 && !strings.HasPrefix(text, "{") {
		for name, f := range fields {
			value, err := f.value(text)
			if err != "" {
				return nil, err
			}
			object, _ := json.Marshal(map[string]any{name: value}) // texts, numbers and booleans can be encoded
			text = string(object)
		}
	}
	if problem := tool.Violation(a.Schema, text); problem != "" {
		return nil, problem
	}
	var content map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&content) != nil || content == nil {
		return nil, "it is no JSON object"
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, ""
}

func (f field) value(text string) (value any, problem string) {
	switch f.Type {
	case "boolean":
		switch strings.ToLower(text) {
		case "yes", "y", "true":
			return true, ""
		case "no", "n", "false":
			return false, ""
		}
		return nil, "answer yes or no"
	case "number", "integer":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return nil, "answer with a number"
		}
		return json.Number(text), ""
	}
	return text, ""
}
