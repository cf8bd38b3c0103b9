package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// Check refuses requests to which an endpoint would respond with status 400.
func TestGateLetsPassWhatAnEndpointTakes(t *testing.T) {
	user := llm.Message{Role: llm.User, Content: "go"}
	calls := llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "a", Arguments: "{}"}, {ID: "2", Name: "a", Arguments: "{}"}}}
	result := func(id string) llm.Message { return llm.Message{Role: llm.Tool, ToolCallID: id, Content: "done"} }
	answer := llm.Message{Role: llm.Assistant, Content: "done"}
	call := func(arguments string) llm.Message {
		return llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "a", Arguments: arguments}}}
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		problem  string
	}{
		"whole":                {[]llm.Message{{Role: llm.System, Content: "be"}, user, calls, result("1"), result("2"), answer, user}, ""},
		"results in any order": {[]llm.Message{user, calls, result("2"), result("1")}, ""},
		"a result missing":     {[]llm.Message{user, calls, result("1")}, `the tool calls ["2"] have no result`},
		"a result too late":    {[]llm.Message{user, calls, result("1"), user, result("2")}, `message 3 is not a tool message, but the tool calls ["2"] before it have no result yet`},
		"a result twice":       {[]llm.Message{user, calls, result("1"), result("1"), result("2")}, `the result of "1" has no call`},
		"an orphan":            {[]llm.Message{user, result("1")}, `the result of "1" has no call`},
		"an empty result":      {[]llm.Message{user, call("{}"), {Role: llm.Tool, ToolCallID: "1"}}, `the result of "1" is empty`},
		"cut arguments":        {[]llm.Message{user, call(`{"a":`), result("1")}, "are not a JSON object"},
		"a late system":        {[]llm.Message{user, {Role: llm.System, Content: "be"}}, "only the first message may be one"},
	} {
		t.Run(name, func(t *testing.T) {
			err := llm.Request{Candidates: []llm.Candidate{{Name: "m"}}, Messages: c.messages}.Check()
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.problem)
			require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		})
	}
	err := llm.Request{Candidates: []llm.Candidate{{Name: "m"}}, Tools: []llm.ToolSpec{{Name: "b"}, {Name: "a"}}}.Check()
	require.ErrorContains(t, err, "sort the tools by name")
	require.ErrorContains(t, llm.Request{}.Check(), "no candidate")
}
