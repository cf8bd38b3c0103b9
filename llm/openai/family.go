package openai

import (
	"regexp"
	"strings"
)

// family returns the value of [llm.Opaque.Family] for a model, such as "google/gemini". It has the names of the [provider] and of the
// [line] of the model.
func family(host, model string) string { return provider(host) + "/" + line(model) }

// line returns the name of the line of models that a model belongs to: the letters with which the model's name begins, such as
// "gemini" for "google/gemini-3-pro".
func line(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	end := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
	if end >= 0 {
		name = name[:end]
	}
	return name
}

// onlyResponses matches the names of models for which OpenAI requires the Responses API, for all requests or for requests with tools.
var onlyResponses = regexp.MustCompile(`(?i)codex|deep-research|^(?:gpt|o)[0-9.-]*[0-9][a-z]?-pro\b|^gpt-(?:5\.[4-9]|[6-9])`)

// usual returns the form of the first request to a model. This form avoids requests that the endpoints of known providers would
// refuse.
func usual(host, model, api string) form {
	var f form
	from := provider(host)
	if api == ResponsesAPI || api == AutoAPI && (from == "openai" || from == "azure") && onlyResponses.MatchString(model) {
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
