package standin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// posting sends a request to a stand-in, and returns the status and the body of the response.
func posting(t *testing.T, p *standin.Provider, path, authorization, body string) (status int, answer string) {
	t.Helper()
	server := httptest.NewServer(&standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi.")), Provider: p})
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// Each provider refuses what it documents, in its own words. `rest` is added to a request that is accepted without it.
func TestProvidersRefuseWhatTheyDocument(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	for _, test := range []struct {
		provider    func() *standin.Provider
		model, rest string
		says        string // empty means that the request is accepted
	}{
		{standin.Grok, "grok-4.3", ``, ""},
		{standin.Grok, "grok-4.3", `"reasoning_effort":"low"`, ""},
		{standin.Grok, "grok-4", `"reasoning_effort":"low"`, "Model grok-4 does not support parameter reasoningEffort."},
		{standin.Grok, "grok-4.20-non-reasoning", `"presence_penalty":0`, "does not support parameter presencePenalty."},
		{standin.Grok, "grok-4.3", `"frequency_penalty":0`, "does not support parameter frequencyPenalty."},
		{standin.Grok, "grok-4.3", `"stop":["x"]`, "does not support parameter stop."},
		{standin.Grok, "grok-4.20-non-reasoning", `"stop":["x"]`, ""},
		{standin.GLM, "glm-4.7", `"response_format":{"type":"json_object"}`, ""},
		{standin.Qwen, "qwen3-max", `"response_format":{"type":"json_object"}`, "must contain the word 'json'"},
		{standin.Qwen, "qwen3-max", `"response_format":{"type":"json_schema"}`, "must contain the word 'json'"},
		{standin.Qwen, "qwen-plus", `"response_format":{"type":"json_schema"}`, ""},
		{standin.Qwen, "qwen-plus", `"enable_thinking":true`, "must be set to false for non-streaming calls"},
		{standin.Qwen, "qwen-plus", `"enable_thinking":true,"stream":true`, ""},
		{standin.Qwen, "qwen-plus", `"enable_thinking":true,"stream":true,"response_format":{"type":"json_schema"}`, "Json mode response is not supported"},
		{standin.Cerebras, "gpt-oss-120b", `"response_format":{"type":"json_schema"}`, ""},
		{standin.Cerebras, "gpt-oss-120b", tools + `,"response_format":{"type":"json_schema"}`, `is incompatible with`},
		{standin.Cerebras, "gpt-oss-120b", `"enable_thinking":true`, "body.enable_thinking: property 'body.enable_thinking' is unsupported"},
		{standin.Cerebras, "gpt-oss-120b", `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y","reasoning_content":"z"},{"role":"user","content":"x"}]`,
			"messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"},
	} {
		body := `{"model":"` + test.model + `"`
		if !strings.Contains(test.rest, `"messages"`) {
			body += `,"messages":[{"role":"user","content":"x"}]`
		}
		if test.rest != "" {
			body += "," + test.rest
		}
		body += "}"
		status, answer := posting(t, test.provider(), "/v1/chat/completions", "Bearer key", body)
		if test.says == "" {
			require.Equal(t, http.StatusOK, status, "%s: %s", body, answer)
			continue
		}
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, answer, test.says)
	}
}

// Vertex AI and Bedrock refuse requests in the form of Anthropic's API, and in the form of the other.
func TestPlatformsOfClaudeRefuseWhatTheyDocument(t *testing.T) {
	t.Parallel()
	const (
		rest    = `"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`
		vertex  = "/v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict"
		bedrock = "/model/anthropic.claude/invoke"
	)
	for _, test := range []struct {
		path, authorization, body string
		status                    int
		says                      string
	}{
		{vertex, "Bearer key", `{"anthropic_version":"vertex-2023-10-16",` + rest, 200, "Hi."},
		{vertex, "Bearer key", `{` + rest, 400, "anthropic_version: Field required"},
		{vertex, "Bearer key", `{"anthropic_version":"bedrock-2023-05-31",` + rest, 400, "anthropic_version: Input should be"},
		{vertex, "Bearer key", `{"model":"claude","anthropic_version":"vertex-2023-10-16",` + rest, 400, "model: Extra inputs are not permitted"},
		{vertex, "", `{"anthropic_version":"vertex-2023-10-16",` + rest, 401, "UNAUTHENTICATED"},
		{strings.Replace(vertex, "/projects", "", 1), "Bearer key", `{"anthropic_version":"vertex-2023-10-16",` + rest, 404, "Unknown request URL"},
		{bedrock, "Bearer key", `{"anthropic_version":"bedrock-2023-05-31",` + rest, 200, "Hi."},
		{bedrock, "Bearer key", `{` + rest, 400, "#: required key [anthropic_version] not found"},
		{bedrock, "Bearer key", `{"anthropic_version":"2023-06-01",` + rest, 400, "#/anthropic_version: "},
		{bedrock, "Bearer key", `{"model":"m","stream":false,"anthropic_version":"bedrock-2023-05-31",` + rest, 400,
			"Malformed input request: #: extraneous key [model] is not permitted#: extraneous key [stream] is not permitted, please reformat"},
		{bedrock, "", `{"anthropic_version":"bedrock-2023-05-31",` + rest, 403, "Missing Authentication Token"},
		{"/model/a/b/invoke", "Bearer key", `{"anthropic_version":"bedrock-2023-05-31",` + rest, 404, "Unknown request URL"},
	} {
		status, answer := posting(t, nil, test.path, test.authorization, test.body)
		require.Equal(t, test.status, status, "%s %s: %s", test.path, test.body, answer)
		require.Contains(t, answer, test.says)
	}
}
