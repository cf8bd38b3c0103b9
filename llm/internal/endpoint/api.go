package endpoint

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// API is the name of a provider's API, for error messages.
type API string

// The APIs whose replies [Response.Foreign] recognises.
const (
	Chat      API = "OpenAI's chat completions API"
	Responses API = "OpenAI's Responses API"
	Messages  API = "Anthropic's Messages API"
	gemini    API = "Gemini's generateContent API"
	ollama    API = "Ollama's chat API"
)

// reply returns the term for a reply of the API, for error messages.
func (a API) reply() string {
	switch a {
	case Chat:
		return "a chat completion"
	case Messages:
		return "a message of Anthropic's Messages API"
	}
	return "a reply of " + string(a)
}

// Foreign returns an [*llm.Error] of class [llm.NotFound] if the response has the format of another known [API] than `own`. For any other
// response, it returns nil. Such an error means that the URL of the endpoint is wrong, so a retry does not help. Call Foreign for a
// response that has a success status, but neither an error nor a reply.
func (a Response) Foreign(own API) error {
	var shape struct {
		Object     Text            `json:"object"`
		Type       Text            `json:"type"`
		Choices    json.RawMessage `json:"choices"`
		Candidates json.RawMessage `json:"candidates"`
		Done       json.RawMessage `json:"done"`
		Message    json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(a.Body, &shape) // a body that is not an object has none of the fields
	var api API
	switch {
	case shape.Object == "response" || strings.HasPrefix(string(shape.Type), "response."):
		api = Responses
	case shape.Type == "message" || shape.Type == "message_start":
		api = Messages
	case Present(shape.Choices):
		api = Chat
	case Present(shape.Candidates):
		api = gemini
	case len(shape.Done) > 0 && Present(shape.Message):
		api = ollama
	}
	if api == "" || api == own {
		return nil
	}
	return &llm.Error{Class: llm.NotFound, Status: a.Status,
		Message: fmt.Sprintf("the endpoint replied in the form of %s, not with %s", api, own.reply())}
}
