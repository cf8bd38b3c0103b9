package openai

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// choice returns the tool choice of a request in the form `f`, in the words of [llm.Params]. It is empty if the request has no tools,
// because endpoints refuse a choice without tools. No agent depends on the choice: an answer without a forced call counts, and a summary
// for which the model calls a tool holds the turn.
func (f form) choice(req llm.Request) string {
	switch {
	case len(req.Tools) == 0 || f.has(noChoice):
		return ""
	case f.has(autoChoice) && forcesCall(req, f):
		return "auto"
	}
	return req.Params.ToolChoice
}

// forcesCall reports whether the tool choice of a request forces the model to call a tool.
func forcesCall(req llm.Request, _ form) bool {
	return len(req.Tools) > 0 && !slices.Contains([]string{"", "auto", "none"}, req.Params.ToolChoice)
}

// hasChoice reports whether a request in the form `f` has a tool choice.
func hasChoice(req llm.Request, f form) bool { return f.choice(req) != "" }
