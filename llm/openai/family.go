package openai

import "strings"

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

// usual returns the form of the first request to a model. It saves the requests that the endpoints of known providers would refuse.
func usual(host, model string) form {
	var f form
	switch provider(host) {
	case "openai", "azure":
		// OpenAI's newer models refuse max_tokens.
		f = newLimit | shortIDs
	case "mistral":
		f = nineIDs | bridged
	}
	return f
}
