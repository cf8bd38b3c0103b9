package standin

import (
	"net/http"
	"slices"
	"strings"
)

// Azure returns a [Provider] that behaves like Azure's endpoints for OpenAI's models.
//
// It has the rules of [OpenAI]. In addition, a path with /openai/deployments/ (the classic form) or /models/ (the form of
// services.ai.azure.com) needs the query parameter `api-version`. Other paths, such as /openai/v1/, do not need it. The name of a
// deployment need not say which model it has; see [Provider.Reasoning].
//
// Sources: Microsoft's page "Azure OpenAI in Foundry Models v1 API", MicrosoftDocs/azure-docs#114602 for the status,
// langchain-ai/langchain#13284 for the body, and nashsu/llm_wiki#610 for `max_tokens`.
func Azure() *Provider {
	return &Provider{rules: slices.Concat([]rule{azureVersion, azureCacheKey}, openAIRules)}
}

// azureCacheKey refuses `prompt_cache_key` for the models of other makers. Sources: vectorize-io/hindsight#3518 for DeepSeek's and
// zed-industries/zed#52000 for Kimi's.
func azureCacheKey(_ *Provider, r *posted) *refusal {
	model := strings.ToLower(r.Model)
	if r.fields["prompt_cache_key"] == nil || !strings.HasPrefix(model, "deepseek") && !strings.HasPrefix(model, "kimi") {
		return nil
	}
	return coded(invalid("", "Unrecognized request argument supplied: prompt_cache_key"), "unrecognized_request_argument")
}

// azureVersion refuses requests without the query parameter `api-version` if their path needs it.
func azureVersion(_ *Provider, r *posted) *refusal {
	versioned := strings.Contains(r.url.Path, "/openai/deployments/") || strings.HasSuffix(r.url.Path, "/models/chat/completions")
	if !versioned || r.url.Query().Get("api-version") != "" {
		return nil
	}
	return &refusal{
		status:  http.StatusNotFound,
		message: "Resource not found",
		body:    map[string]any{"error": map[string]any{"code": "404", "message": "Resource not found"}},
	}
}
