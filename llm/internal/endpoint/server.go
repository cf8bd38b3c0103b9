package endpoint

import (
	"cmp"
	"net/url"
	"strconv"

	"github.com/reagent-dev/reagent/llm"
)

// conventional has the names of providers in OpenTelemetry's conventions that differ from those of [Provider].
var conventional = map[string]string{
	"vertex": "gcp.vertex_ai", "google": "gcp.gemini", "azure": "azure.ai.openai", "mistral": "mistral_ai", "moonshot": "moonshot_ai",
}

// ServerOf returns the server of a client of an API. `api` is the provider's name that an unknown endpoint of this API has.
func (b *Base) ServerOf(api string) llm.Server {
	parsed, err := url.Parse(b.BaseURL)
	if err != nil { // NewBase has checked it
		return llm.Server{Provider: api}
	}
	port, _ := strconv.Atoi(parsed.Port()) // empty means the default
	if port == 0 {
		port = map[string]int{"http": 80, "https": 443}[parsed.Scheme]
	}
	provider := Provider(b.Host)
	if provider == b.Host {
		provider = api
	}
	return llm.Server{Provider: cmp.Or(conventional[provider], provider), Address: parsed.Hostname(), Port: port}
}
