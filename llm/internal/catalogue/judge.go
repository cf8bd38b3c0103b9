package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// Outcome returns the outcome of a case. A reply does not show whether it was repaired. So if the expected outcome `want` is "proceed" or
// "repair", Outcome returns this outcome for every reply whose first call is not refused.
func Outcome(t testing.TB, reply llm.Reply, err error, want string) string {
	told, _ := errors.AsType[*llm.Error](err)
	switch {
	case told != nil && told.Class == llm.ContextTooLong:
		return "compact"
	case told != nil && told.Class.Retryable():
		return "retry"
	case err != nil:
		return "fail"
	case len(reply.Message.ToolCalls) > 0 && refused(t, reply.Message.ToolCalls[0]):
		return "tool_error"
	case want == "proceed" || want == "repair":
		return want
	}
	return "a reply"
}

// Compare compares a reply with the calls and the texts that the case expects.
func (c Case) Compare(t testing.TB, reply llm.Reply) {
	want := c.Expect
	if want.Outcome != "tool_error" {
		require.Len(t, reply.Message.ToolCalls, len(want.Calls), "%v", reply)
		var ids []string
		for i, call := range want.Calls {
			got := reply.Message.ToolCalls[i]
			require.Equal(t, call.Name, got.Name)
			if string(call.Arguments) == "null" {
				require.False(t, llm.IsObject(got.Arguments), "the call must not run")
			} else {
				require.JSONEq(t, string(call.Arguments), got.Arguments)
			}
			require.NotEmpty(t, got.ID)
			require.NotContains(t, ids, got.ID)
			ids = append(ids, got.ID)
		}
	}
	if want.Content != nil {
		require.Equal(t, *want.Content, reply.Message.Content)
	}
	if want.Reasoning != "" {
		require.Equal(t, want.Reasoning, reply.Message.Reasoning)
	}
	if want.Finish != "" {
		require.Equal(t, want.Finish, reply.FinishReason)
	}
}

// Asked checks the requests of a client that must not retry. It may ask again only in another form, so no request is like another one.
func Asked(t testing.TB, requests []string) {
	sorted := slices.Sorted(slices.Values(requests))
	require.Len(t, slices.Compact(sorted), len(requests), "a client does not retry")
}

// Tools are the tools that the cases use.
var Tools = []llm.ToolSpec{
	spec("get_weather", `"city":{"type":"string"}`, "city"),
	spec("list_files", ""),
	spec("read_files", `"paths":{"type":"array","items":{"type":"string"}}`, "paths"),
	spec("shell", `"command":{"type":"string"}`, "command"),
	spec("write_file", `"path":{"type":"string"},"content":{"type":"string"}`, "path", "content"),
}

func spec(name, properties string, required ...string) llm.ToolSpec {
	list, _ := json.Marshal(append([]string{}, required...))
	return llm.ToolSpec{Name: name, Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","required":%s,"properties":{%s}}`, list, properties))}
}

// refused reports whether the agent would refuse a call with an error result.
func refused(t testing.TB, call llm.ToolCall) bool {
	require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, call.Name, "the history must not hold the name")
	at := slices.IndexFunc(Tools, func(s llm.ToolSpec) bool { return s.Name == call.Name })
	if at < 0 {
		return true
	}
	var object map[string]any
	if json.Unmarshal([]byte(call.Arguments), &object) != nil || object == nil {
		return true
	}
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(Tools[at].Parameters, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved.Validate(object) != nil
}
