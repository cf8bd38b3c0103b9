package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// refusal returns the body of an error response of Anthropic.
func refusal(message string) string {
	encoded, _ := json.Marshal(message)
	return fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%s},"request_id":"req_1"}`, encoded)
}

// A rule refuses requests whose body has a text.
type rule struct{ text, says string }

// rules refuses requests with the first rule that applies.
func rules(all ...rule) func([]byte) (int, string) {
	return func(body []byte) (int, string) {
		for _, r := range all {
			if strings.Contains(string(body), r.text) {
				return 400, refusal(r.says)
			}
		}
		return 0, ""
	}
}

// These texts are in the bodies of requests.
const (
	adaptive = `"thinking":{"type":"adaptive","display":"summarized"}`
	disabled = `"thinking":{"type":"disabled"}`
	format   = `"format":{"type":"json_schema"`
)

var (
	noAdaptive = rule{`"adaptive"`, "adaptive thinking is not supported on this model"}
	noEffort   = rule{`"effort"`, "This model does not support the effort parameter."}
)

// If a model does not support a part of a request, the client sends the request without it. It remembers this: later requests are
// accepted at once.
func TestAPartThatAModelRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	temperature, topP := 0.5, 0.5
	schema := json.RawMessage(`{"type":"object","properties":{}}`)
	tools := []llm.ToolSpec{{Name: "f"}}
	for name, test := range map[string]struct {
		params   llm.Params
		tools    []llm.ToolSpec
		refuse   []rule
		requests int    // the number of requests until the first reply
		has, not string // texts that the last body has, and does not have
	}{
		"a smaller limit": {
			llm.Params{}, nil, []rule{{`"max_tokens":64000`, "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-1"}},
			2, `"max_tokens":32000`, "",
		},
		"a smaller limit than asked for": {
			llm.Params{MaxOutputTokens: 100000}, nil,
			[]rule{{`"max_tokens":100000`, "The maximum tokens you requested exceeds the model limit of 64000. Try again with a maximum tokens value that is lower than 64000."}},
			2, `"max_tokens":64000`, "",
		},
		"a budget instead of adaptive thinking": {
			llm.Params{ReasoningEffort: "high"}, nil, []rule{noAdaptive, noEffort}, 2, `"thinking":{"type":"enabled","budget_tokens":16384}`, "output_config",
		},
		"the effort is refused first": {
			llm.Params{ReasoningEffort: "medium"}, nil, []rule{noEffort, noAdaptive}, 3, `"thinking":{"type":"enabled","budget_tokens":8192}`, "output_config",
		},
		"a budget in a small limit": {
			llm.Params{ReasoningEffort: "max", MaxOutputTokens: 4000}, nil, []rule{noAdaptive}, 2, `"budget_tokens":2000`, "",
		},
		"no room for a budget": {
			llm.Params{ReasoningEffort: "max", MaxOutputTokens: 2000}, nil, []rule{noAdaptive}, 2, `"max_tokens":2000`, "thinking",
		},
		"no thinking at all": {
			llm.Params{ReasoningEffort: "low"}, nil,
			[]rule{noEffort, {`"thinking"`, "thinking: Extra inputs are not permitted"}}, 4, `"max_tokens"`, "thinking",
		},
		"no display": {
			llm.Params{ReasoningEffort: "low"}, nil, []rule{{`"display"`, "thinking.adaptive.display: Extra inputs are not permitted"}},
			2, `"thinking":{"type":"adaptive"}`, "",
		},
		"a model that always thinks": {
			llm.Params{ReasoningEffort: "none"}, nil, []rule{{disabled, `"thinking.type.disabled" is not supported for this model.`}}, 2, `"max_tokens"`, "thinking",
		},
		"a lower effort": {
			llm.Params{ReasoningEffort: "max"}, nil, []rule{{`"max"`, `level "max" not supported, valid levels: low, medium, high`}},
			2, `"effort":"high"`, "",
		},
		"no output_config": {
			llm.Params{ReasoningEffort: "low", OutputSchema: schema}, nil, []rule{{"output_config", "output_config: Extra inputs are not permitted"}},
			2, adaptive, "output_config",
		},
		"no schema": {
			llm.Params{OutputSchema: schema, ReasoningEffort: "low"}, nil,
			[]rule{{format, "output_config.format: structured outputs are not supported for this model"}}, 2, `"output_config":{"effort":"low"}`, format,
		},
		"a schema that cannot be expressed": {
			llm.Params{OutputSchema: schema}, nil,
			[]rule{{format, "output_config.format.schema: For 'object' type, property 'maximum' is not supported"}}, 2, `"max_tokens"`, format,
		},
		"one of temperature and top_p": {
			llm.Params{Temperature: &temperature, TopP: &topP}, nil,
			[]rule{{"top_p", "`temperature` and `top_p` cannot both be specified for this model. Please use only one."}}, 2, `"temperature":0.5`, "top_p",
		},
		"no temperature": {
			llm.Params{Temperature: &temperature, TopP: &topP}, nil,
			[]rule{{"temperature", "`temperature` is deprecated for this model."}, {"top_p", "`top_p` is deprecated for this model."}}, 3, `"max_tokens"`, "top_p",
		},
		"a call is forced, and the model thinks by default": {
			llm.Params{ToolChoice: "required"}, tools,
			[]rule{{`"max_tokens":64000,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],` +
				`"tool_choice":{"type":"any"},"messages":[{"role":"user","content":[{"type":"text","text":"How is the weather?",` +
				`"cache_control":{"type":"ephemeral"}}]}],"stream"`, "Thinking may not be enabled when tool_choice forces tool use."}},
			2, disabled, "",
		},
		"a call cannot be forced": {
			llm.Params{ToolChoice: "f"}, tools,
			[]rule{{`"type":"tool"`, "Thinking may not be enabled when tool_choice forces tool use."}}, 3, `"tool_choice":{"type":"auto"}`, "",
		},
		"no marks for the cache": {
			llm.Params{}, tools, []rule{{"cache_control", "tools.0.custom.cache_control: Extra inputs are not permitted"}}, 2, `"messages"`, "cache_control",
		},
		"calls that may be parallel": {
			llm.Params{ParallelToolCalls: new(bool)}, tools, []rule{{"disable_parallel_tool_use", "Malformed input request: #/tool_choice: extraneous key [disable_parallel_tool_use] is not permitted, please reformat your input and try again."}},
			2, `"messages"`, "tool_choice",
		},
		"no stream": {llm.Params{}, nil, []rule{{`"stream":true`, "streaming is not supported for this model"}}, 2, `"messages"`, "stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &picky{refuse: rules(test.refuse...), next: llmtest.Handler(hi())}
			client := serve(t, p)
			req := ask()
			req.Params, req.Tools = test.params, test.tools
			for n := range 3 {
				reply, err := client.Complete(t.Context(), req)
				require.NoError(t, err)
				require.Equal(t, "Hi.", reply.Message.Content)
				require.Len(t, p.bodies(), test.requests+n)
			}
			last := p.bodies()[len(p.bodies())-1]
			require.Contains(t, string(last), test.has)
			if test.not != "" {
				require.NotContains(t, string(last), test.not)
			}

			other := req
			other.Candidates = []llm.Candidate{{Name: "other", Model: "other-model"}}
			_, err := client.Complete(t.Context(), other)
			require.NoError(t, err)
			require.Len(t, p.bodies(), 2*test.requests+2, "each model is asked for itself")
		})
	}
}

// The limit of a model holds for all requests to it. Other forms belong to the effort and the schema of the request.
func TestAFormBelongsToTheRequestsThatNeedIt(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(hi()), refuse: rules(
		rule{`"max_tokens":64000`, "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for test-model"},
		rule{`"xhigh"`, "output_config.effort 'xhigh' is not supported on this model. Use effort 'high' or below."},
		rule{`"minimum"`, "output_config.format.schema: 'minimum' is not supported"},
	)}
	client := serve(t, p)
	complete := func(params llm.Params) string {
		req := ask()
		req.Params = params
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		return string(p.bodies()[len(p.bodies())-1])
	}
	complete(llm.Params{})
	require.Len(t, p.bodies(), 2)
	require.Contains(t, complete(llm.Params{ReasoningEffort: "xhigh"}), `"effort":"high"`)
	require.Len(t, p.bodies(), 4)
	require.Contains(t, complete(llm.Params{ReasoningEffort: "max"}), `"effort":"max"`)
	require.Len(t, p.bodies(), 5)
	require.NotContains(t, complete(llm.Params{OutputSchema: json.RawMessage(`{"type":"integer","minimum":1}`)}), format)
	require.Len(t, p.bodies(), 7)
	require.Contains(t, complete(llm.Params{OutputSchema: json.RawMessage(`{"type":"integer"}`)}), format)
	require.Contains(t, complete(llm.Params{MaxOutputTokens: 100}), `"max_tokens":100`)
	require.Len(t, p.bodies(), 9)
}

// If the output limit of the client does not fit into the context window, the client makes it smaller for this request. If hardly
// anything fits, or if the limit is from the configuration, the conversation is too long.
func TestTheDefaultLimitFitsIntoTheWindow(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(hi()), refuse: rules(
		rule{`"max_tokens":64000`, "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens` and try again"},
		rule{`"max_tokens":60000`, "input length and `max_tokens` exceed context limit: 150000 + 60000 > 200000, decrease input length or `max_tokens` and try again"},
		rule{`"max_tokens":50000`, "input length and `max_tokens` exceed context limit: 199000 + 50000 > 200000, decrease input length or `max_tokens` and try again"},
	)}
	client := serve(t, p)
	_, err := client.Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.ContextTooLong})
	require.Len(t, p.bodies(), 2)
	require.Contains(t, string(p.bodies()[1]), `"max_tokens":50000`)

	req := ask()
	req.Params.MaxOutputTokens = 60000
	_, err = client.Complete(t.Context(), req)
	require.ErrorIs(t, err, &llm.Error{Class: llm.ContextTooLong})
	require.Len(t, p.bodies(), 3)
}

// Some endpoints refuse the calls of a conversation if the request has no tools.
func TestToolsOfTheConversationAreDeclared(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(hi()), refuse: func(body []byte) (int, string) {
		if !strings.Contains(string(body), `"tools"`) {
			return 400, refusal("Requests which include `tool_use` or `tool_result` blocks must define tools")
		}
		return 0, ""
	}}
	_, err := serve(t, p).Complete(t.Context(), ask(
		user("a"), called(llmtest.ToolCall("1", "g", "{}"), llmtest.ToolCall("2", "f", "{}")), result("1", "x"), result("2", "y"), user("Sum up.")))
	require.NoError(t, err)
	require.Len(t, p.bodies(), 2)
	require.Contains(t, string(p.bodies()[1]), `"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}},{"name":"g",`)
}

// If the endpoint refuses the request for another reason, the client does not ask again, even if the message mentions a part that may
// be left out.
func TestOtherRefusalsAreNotTakenForAForm(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{
		401: "no key, no thinking", 403: "stream", 404: "model: claude-thinking", 429: "too many requests to stream", 500: "thinking failed",
		529: "temperature", 413: "Request exceeds the maximum size",
	} {
		p := &picky{refuse: func([]byte) (int, string) { return status, refusal(says) }}
		req := ask()
		req.Params.ReasoningEffort = "high"
		_, err := serve(t, p).Complete(t.Context(), req)
		require.Error(t, err)
		require.Len(t, p.bodies(), 1, says)
	}

	// The message names parts that the request does not have.
	p := &picky{refuse: func([]byte) (int, string) {
		return 400, refusal("temperature, top_p, effort, adaptive thinking, output_config.format, signature, tool_choice: no")
	}}
	_, err := serve(t, p).Complete(t.Context(), ask())
	require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	require.Len(t, p.bodies(), 1)

	// An endpoint that refuses everything is not asked for ever, and nothing is remembered.
	p = &picky{refuse: func([]byte) (int, string) {
		return 400, refusal("thinking, effort, cache_control and stream: no")
	}}
	client := serve(t, p)
	req := ask()
	req.Params.ReasoningEffort = "max"
	for n := range 2 {
		_, err = client.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.Less(t, len(p.bodies()), 10*(n+1))
	}
	require.Contains(t, string(p.bodies()[len(p.bodies())/2]), `"effort":"max"`)
}

// An effort that the endpoint does not have is not left out: a person chooses one of those that the error names.
func TestARefusedEffortNamesTheOthers(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(hi()), refuse: rules(rule{`"effort":"low"`, `level "low" not supported, valid levels: medium, high`})}
	req := ask()
	req.Params.ReasoningEffort = "low"
	_, err := serve(t, p).Complete(t.Context(), req)
	require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	require.ErrorContains(t, err, "reasoning_effort: low was refused; set it to medium, high, or remove it")
	require.Len(t, p.bodies(), 1)
}
