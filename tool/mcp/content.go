package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/jsonwords"
	"github.com/reagent-dev/reagent/tool"
)

// callResult is the JSON result of the MCP method `tools/call`. This package decodes the result itself for two reasons. The SDK
// decodes numbers into float64. The SDK also returns an error for an unknown type of content.
type callResult struct {
	Content           []content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	ResultType        string          `json:"resultType"`
	// These two fields are set in a result of the type "input_required".
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState"`
}

// content is one part of a result, which MCP calls a content block.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"` // base64
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"` // base64
	} `json:"resource"`
}

// render converts the JSON result of the MCP method `tools/call` into the result that the model reads. The JSON result has a list of
// content blocks. render keeps text blocks and text resources. It replaces every other block, such as an image, by a note. If there is no
// text block, render adds the structured content.
//
// If the tool asks a person, the result has the question. render returns an error result if nobody can answer this question here (see
// [elicit]), or if the JSON cannot be decoded.
func render(raw json.RawMessage) tool.Result {
	var r callResult
	if err := exact.Decode(raw, &r, exact.Foreign); err != nil {
		return tool.Result{Content: "the tool ran, but its result cannot be read: " + jsonwords.Problem(err), IsError: true}
	}
	if r.ResultType == "input_required" {
		question, problem := elicit(r.InputRequests, r.RequestState)
		return tool.Result{Question: question, Content: problem, IsError: question == nil}
	}
	var parts []string
	text := false
	for _, c := range r.Content {
		part := c.String()
		if part == "" {
			continue
		}
		text = text || c.Type == "text"
		parts = append(parts, part)
	}
	if !text && len(r.StructuredContent) > 0 && string(r.StructuredContent) != "null" {
		parts = append(parts, string(r.StructuredContent))
	}
	return tool.Result{Content: strings.Join(parts, "\n"), IsError: r.IsError}
}

// String returns the content block as text for the model.
func (c content) String() string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes: not shown]", c.Type, c.MIMEType, decodedLen(c.Data))
	case "resource_link":
		return fmt.Sprintf("[link to the resource %s %s]", c.Name, c.URI)
	case "resource":
		if c.Resource.Text != nil {
			return fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, *c.Resource.Text)
		}
		return fmt.Sprintf("[resource %s %s, %d bytes: not shown]", c.Resource.URI, c.Resource.MIMEType, decodedLen(c.Resource.Blob))
	}
	return fmt.Sprintf("[%s: not shown]", c.Type)
}

func decodedLen(data string) int {
	return len(strings.TrimRight(data, "=")) * 3 / 4
}
