package openai

import (
	"regexp"

	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// onlyResponses matches the names of models for which OpenAI requires the Responses API, for all requests or for requests with tools.
var onlyResponses = regexp.MustCompile(`(?i)codex|deep-research|^(?:gpt|o)[0-9.-]*[0-9][a-z]?-pro\b|^gpt-(?:5\.[4-9]|[6-9])`)

// usual returns the form of the first request to a model. This form avoids requests that the endpoints of known providers would refuse.
// `api` is [Options.API], and `deployment` the result of [Client.deployment].
func usual(host, model, api string, deployment bool) form {
	f := noCacheKey
	from := endpoint.Provider(host)
	own := from == "openai" || from == "azure"
	if own {
		f = 0
	}
	switch {
	case api == ResponsesAPI || api == AutoAPI && !deployment && own && onlyResponses.MatchString(model):
		return f | viaResponses
	case own:
		// OpenAI's newer models refuse max_tokens.
		return f | newLimit | shortIDs
	case from == "mistral":
		return f | nineIDs | bridged
	}
	return f
}
