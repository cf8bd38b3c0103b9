package endpoint

import "strings"

// Family returns the value of [llm.Opaque.Family] for a model, such as "google/gemini": the [Provider] and the [Line] of the model.
func Family(host, model string) string { return Provider(host) + "/" + Line(model) }

// Line returns the name of the line of models that a model belongs to, such as "gemini" for "google/gemini-3-pro". It consists of the
// letters with which the model's name begins after the last slash, in lower case. Bedrock's names for Claude have a region and a vendor
// before that, as in "us.anthropic.claude-opus-4-6-v1".
func Line(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if _, claude, found := strings.Cut(name, "anthropic."); found {
		name = claude
	}
	return name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))]
}

// Provider returns the name of the provider at a host. For an unknown host, it is the host itself.
func Provider(host string) string {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	for _, known := range []struct{ suffix, name string }{
		{"aiplatform.googleapis.com", "vertex"}, {"googleapis.com", "google"}, {"openai.azure.com", "azure"}, {"services.ai.azure.com", "azure"}, {"cognitiveservices.azure.com", "azure"},
		{"openai.com", "openai"}, {"anthropic.com", "anthropic"}, {"mistral.ai", "mistral"}, {"openrouter.ai", "openrouter"}, {"deepseek.com", "deepseek"},
		{"moonshot.ai", "moonshot"}, {"moonshot.cn", "moonshot"}, {"kimi.com", "moonshot"}, {"minimax.io", "minimax"}, {"minimaxi.com", "minimax"},
		{"z.ai", "zhipu"}, {"bigmodel.cn", "zhipu"}, {"xiaomimimo.com", "xiaomi"},
	} {
		if name == known.suffix || strings.HasSuffix(name, "."+known.suffix) {
			return known.name
		}
	}
	return strings.ToLower(host)
}
