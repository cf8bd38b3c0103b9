package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
)

func TestParametersThatAreNotSetAreNotSent(t *testing.T) {
	t.Parallel()
	seed := 7
	req := ask()
	req.Params.Seed = &seed // the API has no such field
	body := sent(t, req, noStream)
	require.Len(t, body, 3)
	require.Contains(t, body, "messages")
	require.Equal(t, `"test-model"`, string(body["model"]))
	require.Equal(t, `64000`, string(body["max_tokens"]))

	require.Equal(t, `true`, string(sent(t, ask())["stream"]))
}

func TestHeadersAndQueryAreSent(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: hi()}
	var query string
	client := serve(t, watch(endpoint, &query), func(o *anthropic.Options) {
		o.Headers = map[string]string{"anthropic-beta": "x-2026", "User-Agent": "mine"}
		o.Query = map[string]string{"api-version": "a&b"}
	})
	_, err := client.Complete(t.Context(), ask())
	require.NoError(t, err)
	header := endpoint.Requests()[0].Header
	require.Equal(t, "sk-very-secret", header.Get("X-Api-Key"))
	require.Empty(t, header.Get("Authorization"))
	require.Equal(t, "2023-06-01", header.Get("Anthropic-Version"))
	require.Equal(t, "x-2026", header.Get("Anthropic-Beta"))
	require.Equal(t, "mine", header.Get("User-Agent"))
	require.Equal(t, "/v1/messages?api-version=a%26b", query)
}

// The library must not take the key or the URL from the environment.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-another")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-another")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	endpoint := &standin.Endpoint{Client: hi()}
	_, err := serve(t, endpoint, func(o *anthropic.Options) { o.APIKey = "" }).Complete(t.Context(), ask())
	require.NoError(t, err)
	require.NotContains(t, endpoint.Requests()[0].Header, "X-Api-Key")
	require.NotContains(t, endpoint.Requests()[0].Header, "Authorization")
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	for _, test := range []struct {
		choice   string
		parallel *bool
		want     string
	}{
		{"", nil, ``},
		{"", &yes, ``},
		{"", &no, `{"type":"auto","disable_parallel_tool_use":true}`},
		{"auto", nil, `{"type":"auto"}`},
		{"none", &no, `{"type":"none"}`},
		{"required", nil, `{"type":"any"}`},
		{"required", &no, `{"type":"any","disable_parallel_tool_use":true}`},
		{"f", &no, `{"type":"tool","name":"f","disable_parallel_tool_use":true}`},
	} {
		req := ask()
		req.Params.ToolChoice, req.Params.ParallelToolCalls = test.choice, test.parallel
		require.NotContains(t, sent(t, req), "tool_choice", "without tools, there is nothing to choose")
		req.Tools = []llm.ToolSpec{{Name: "f"}}
		require.Equal(t, test.want, string(sent(t, req)["tool_choice"]))
	}
}

func TestToolsKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	req := ask()
	req.Tools = []llm.ToolSpec{
		{Name: "a"},
		{Name: "b", Description: "<B>", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "c", Parameters: json.RawMessage(`{"properties":{"z":{"maximum":9007199254740993},"a":{"type":"string"}},"type":"object","additionalProperties":true}`)},
	}
	require.Equal(t, `[{"name":"a","input_schema":{"type":"object","properties":{}}},`+
		`{"name":"b","description":"<B>","input_schema":{"type":"object","properties":{}}},`+
		`{"name":"c","input_schema":`+string(req.Tools[2].Parameters)+`}]`, string(sent(t, req)["tools"]))
}

func TestTheSchemaOfTheReplyIsClosed(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"object","properties":{}},"a":{"type":"array","items":{"type":["object","null"]}}}}`: `{"type":"object","properties":{"b":{"type":"object","properties":{},"additionalProperties":false},"a":{"type":"array","items":{"type":["object","null"],"additionalProperties":false}}},"additionalProperties":false}`,
		`{"anyOf":[{"$ref":"#/$defs/x"},{"type":"string"}],"$defs":{"x":{"type":"object","additionalProperties":false}}}`:                `{"anyOf":[{"$ref":"#/$defs/x"},{"type":"string"}],"$defs":{"x":{"type":"object","additionalProperties":false}}}`,
		`{"enum":[{"type":"object"}]}`: `{"enum":[{"type":"object"}]}`,
	} {
		req := ask()
		req.Params.OutputSchema = json.RawMessage(schema)
		body := sentLeniently(t, req)
		require.Equal(t, `{"format":{"type":"json_schema","schema":`+want+`}}`, string(body["output_config"]))
	}
}

// sentLeniently is like [sent] with an endpoint that accepts everything.
func sentLeniently(t *testing.T, req llm.Request) map[string]json.RawMessage {
	t.Helper()
	endpoint := &standin.Endpoint{Client: hi(), Lenient: true}
	_, err := serve(t, endpoint).Complete(t.Context(), req)
	require.NoError(t, err)
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(endpoint.Requests()[0].Body, &body))
	return body
}

func TestReasoningEffort(t *testing.T) {
	t.Parallel()
	hot, mild, all := 0.3, 1.0, 0.97
	for _, test := range []struct {
		effort       string
		thinking     string
		outputConfig string
	}{
		{"", ``, ``},
		{"none", `{"type":"disabled"}`, ``},
		{"minimal", `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`},
		{"xhigh", `{"type":"adaptive","display":"summarized"}`, `{"effort":"xhigh"}`},
	} {
		req := ask()
		req.Params.ReasoningEffort = test.effort
		req.Params.Temperature, req.Params.TopP = &hot, &hot
		body := sent(t, req)
		require.Equal(t, test.thinking, string(body["thinking"]))
		require.Equal(t, test.outputConfig, string(body["output_config"]))
		thinks := test.outputConfig != ""
		require.Equal(t, thinks, body["temperature"] == nil, "the API refuses a temperature beside thinking")
		require.Equal(t, thinks, body["top_p"] == nil)

		req.Params.Temperature, req.Params.TopP = &mild, &all
		body = sent(t, req)
		require.Equal(t, `1`, string(body["temperature"]))
		require.Equal(t, `0.97`, string(body["top_p"]))

		req.Tools, req.Params.ToolChoice = []llm.ToolSpec{{Name: "f"}}, "required"
		if thinks {
			require.NotContains(t, sent(t, req), "thinking", "the API refuses thinking if a call is forced")
		}
	}
}

func TestExtraParameters(t *testing.T) {
	t.Parallel()
	req := ask()
	req.Params = llm.Params{
		MaxOutputTokens: 7,
		ReasoningEffort: "high",
		Extra: map[string]json.RawMessage{
			"thinking": json.RawMessage(`{"type":"disabled"}`),
			"metadata": json.RawMessage(`{ "user_id" : "<a>", "n":0.10 }`),
		},
	}
	endpoint := &standin.Endpoint{Client: hi()}
	client := serve(t, endpoint)
	_, err := client.Complete(t.Context(), req)
	require.NoError(t, err)
	body := string(endpoint.Requests()[0].Body)
	require.Contains(t, body, `"metadata":{ "user_id" : "<a>", "n":0.10 }`)
	require.Contains(t, body, `"thinking":{"type":"disabled"}`)
	require.NotContains(t, body, "adaptive")

	for name, value := range map[string]string{"messages": "[]", "stream": "true", "system": `""`, "tools": "[]", "model": `""`, "top_k": "{"} {
		req.Params.Extra = map[string]json.RawMessage{name: json.RawMessage(value)}
		_, err := client.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.ErrorContains(t, err, name)
	}
	require.Len(t, endpoint.Requests(), 1)
}
