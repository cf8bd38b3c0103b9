package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// Some models take no schema for their text, but they take one for the input of a tool: Claude before 4.5, Claude on Vertex unless the
// organisation allows more, and some models on Bedrock. For them, the answer comes as the call of a tool that only the client knows (Anthropic:
// "Tool use", "Structured outputs"). The caller gets the input of this call as the text of the reply, also in the deltas. A model that answers
// with a text is understood, too.

const (
	answerDescription = "Gives your final answer. Call this tool once, instead of writing the answer as a text, when you need no other tool any more."
	answerInstruction = "Give your final answer only by a call of the tool "
)

// request returns the request in the form in which its answer can have the schema: unchanged if the API takes the schema; with the tool for
// the answer; or with the schema in the instructions. The model must call the tool if the request has no other tools and asks for no thinking,
// which the API does not combine with a forced call.
func (f form) request(req llm.Request) llm.Request {
	if len(req.Params.OutputSchema) == 0 || !f.unformatted {
		return req
	}
	name := f.answerTool(req)
	if name == "" {
		return endpoint.SchemaInPrompt(req)
	}
	if effort := req.Params.ReasoningEffort; len(req.Tools) == 0 && (effort == "" || effort == none) {
		req.Params.ToolChoice = name
	} else {
		req = endpoint.Instruct(req, answerInstruction+name+".")
	}
	tool := llm.ToolSpec{Name: name, Description: answerDescription, Parameters: req.Params.OutputSchema}
	req.Tools = append(slices.Clone(req.Tools), tool)
	return req
}

// answerTool returns the name of the tool for the answer, which no tool of the request has; "" if there is none. The input of a tool is always
// an object, so the schema must be that of an object.
func (f form) answerTool(req llm.Request) string {
	var schema struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(req.Params.OutputSchema, &schema) // what is not a schema has no type
	if !f.unformatted || f.prompted || schema.Type != "object" || len(req.Tools) > 0 && req.Params.ToolChoice == "none" {
		return ""
	}
	name := "final_answer"
	for slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == name }) {
		name += "_"
	}
	return name
}

// answered returns the blocks of a reply with the input of the last call of the tool for the answer as their text. Other text is not a part of
// the answer. If the reply also calls other tools, the model has answered before it had their results, so the answer goes. `tool` is
// [form.answerTool], and `reason` the finish reason.
func answered(pieces []piece, tool, reason string) []piece {
	last, others := -1, false
	for i, p := range pieces {
		switch {
		case p.kind != "tool_use":
		case p.name == tool:
			last = i
		default:
			others = true
		}
	}
	if tool == "" || last < 0 {
		return pieces
	}
	answer := piece{kind: "text", text: pieces[last].input}
	if finish.AtLimit(reason) && strings.TrimSpace(answer.text) == "{}" {
		answer.text = "" // the model had not begun to write the answer
	}
	var rest []piece
	for i, p := range pieces {
		switch {
		case i == last && !others:
			rest = append(rest, answer)
		case p.kind == "tool_use" && p.name == tool, p.kind == "text" && !others:
		default:
			rest = append(rest, p)
		}
	}
	return rest
}
