package endpoint

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// SchemaInPrompt returns the request with its output schema in the instructions, for an endpoint that does not take the schema in a field.
// The word JSON must stand there for DeepSeek and others, which refuse "json_object" without it.
func SchemaInPrompt(req llm.Request) llm.Request {
	return Instruct(req, "Your final answer must be one JSON value that fits this JSON schema, without any other text around it:\n"+
		string(req.Params.OutputSchema))
}

// Instruct returns the request with a text at the end of the instructions.
func Instruct(req llm.Request, text string) llm.Request {
	req.Messages = slices.Clone(req.Messages)
	if len(req.Messages) > 0 && req.Messages[0].Role == llm.System && len(req.Messages[0].Parts) == 0 {
		req.Messages[0].Content += "\n\n" + text
		return req
	}
	req.Messages = slices.Insert(req.Messages, 0, llm.Message{Role: llm.System, Content: text})
	return req
}
