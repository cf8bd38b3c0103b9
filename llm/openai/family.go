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
	var f form
	from := endpoint.Provider(host)
	if api == ResponsesAPI || api == AutoAPI && !deployment && (from == "openai" || from == "azure") && onlyResponses.MatchString(model) {
		return viaResponses
	}
	switch from {
	case "openai", "azure":
		// OpenAI's newer models refuse max_tokens.
		f = newLimit | shortIDs
	case "mistral":
		f = nineIDs | bridged
	}
	return f
}
