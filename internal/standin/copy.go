package standin

import (
	"maps"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Copy returns a copy of a request. Later changes to the slices of the request, or to its map of extra parameters, do not
// change the copy. The copy shares JSON texts and the targets of pointers with the request.
func Copy(req llm.Request) llm.Request {
	req.Candidates = slices.Clone(req.Candidates)
	req.Tools = slices.Clone(req.Tools)
	req.Params.Extra = maps.Clone(req.Params.Extra)
	req.Messages = slices.Clone(req.Messages)
	for i, message := range req.Messages {
		req.Messages[i].Parts = slices.Clone(message.Parts)
		req.Messages[i].ToolCalls = slices.Clone(message.ToolCalls)
	}
	return req
}
