package openai

import (
	"regexp"
	"strings"
)

// family returns the name of the endpoints that understand each other's data (see [llm.Opaque]): the same provider with models of the
// same line, such as "google/gemini".
func family(host, model string) string { return provider(host) + "/" + line(model) }

// line returns the name of a line of models: the letters with which the model's name begins, such as "gemini" for
// "google/gemini-3-pro".
func line(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	end := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
	if end >= 0 {
		name = name[:end]
	}
	return name
}

// onlyResponses matches the names of models that OpenAI serves only through the Responses API, or with tools only there.
var onlyResponses = regexp.MustCompile(`(?i)codex|deep-research|^(?:gpt|o)[0-9.-]*[0-9][a-z]?-pro\b|^gpt-(?:5\.[4-9]|[6-9])`)

// usual returns the form of the first request to a model. It saves the requests that the endpoints of known providers would refuse.
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
