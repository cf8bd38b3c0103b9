package repair_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

var tools = []llm.ToolSpec{
	{Name: "get_weather"}, {Name: "list_files"}, {Name: "Read"}, {Name: "read"}, {Name: "mcp-search"}, {Name: "mcp_search"},
}

// one repairs a reply with one call. It returns the repaired call and the texts in Repaired.
func one(call llm.ToolCall) (llm.ToolCall, []string) {
	reply := repair.Reply(llm.Reply{Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call}}}, llm.Request{Tools: tools})
	return reply.Message.ToolCalls[0], reply.Repaired
}

func TestNamesAreResolvedWhenOneToolCanBeMeant(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"get_weather":                "get_weather",
		"Get_Weather":                "get_weather",
		"get-weather":                "get_weather",
		"get.weather":                "get_weather",
		"get weather":                "get_weather",
		"functions.get_weather":      "get_weather",
		"functions.get_weather:0":    "get_weather",
		"tools.Get-Weather":          "get_weather",
		"default_api.list_files":     "list_files",
		"Read":                       "Read",
		"read":                       "read",
		"READ":                       "READ",       // two tools could be meant
		"MCP_search":                 "MCP_search", // two tools could be meant
		"mcp__686f__get_weather":     "mcp__686f__get_weather",
		"get_weatherjson":            "get_weatherjson",
		"fetch_url":                  "fetch_url",
		"":                           "unnamed",
		"日本語":                        "_",
		"get_weather<|channel|>x":    "get_weather_channel_x",
		"<get_weather>":              "_get_weather_",
		"multi_tool_use.parallel":    "multi_tool_use_parallel",
		"read\x00":                   "read_",
		"list_files/":                "list_files_",
		"a long name of " + long64(): "a_long_name_of_" + long64()[:49],
	} {
		got, did := one(llm.ToolCall{ID: "1", Name: said, Arguments: "{}"})
		require.Equal(t, want, got.Name, "%q", said)
		require.Equal(t, said != want, len(did) > 0, "%q: %v", said, did)
	}
}

func long64() string { return "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }

// A name whose characters were replaced must not be the name of a tool. It must not be similar to a tool's name either, because
// the model may copy the name from the history.
func TestACleanedNameMeansNoTool(t *testing.T) {
	t.Parallel()
	offered := []llm.ToolSpec{{Name: "a_b"}, {Name: "Unknown-0"}}
	for _, said := range []string{"a$b", "A$B"} {
		reply := repair.Reply(llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{{Name: said}}}}, llm.Request{Tools: offered})
		require.Equal(t, "unknown_1", reply.Message.ToolCalls[0].Name)
	}
}

func TestArgumentsBecomeTheObjectThatWasMeant(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                               `{}`,
		" \n":                            `{}`,
		"null":                           `{}`,
		`"{\"a\":1}"`:                    `{"a":1}`,
		`" {\"a\":1}\n"`:                 `{"a":1}`,
		"```json\n{\"a\":1}\n```":        `{"a":1}`,
		"```\n{\"a\":\"```\"}```":        `{"a":"` + "```" + `"}`,
		`{"a":1}</tool_call>`:            `{"a":1}`,
		`{"a":1}<|im_end|>` + "\n":       `{"a":1}`,
		`{"a":1}}`:                       `{"a":1}`,
		"{\"a\":1}\n```":                 `{"a":1}`,
		`{"a":1}{"a":1}`:                 `{"a":1}`,
		`{"a": "x \" y"} {"a":"x \" y"}`: `{"a": "x \" y"}`,
		`{"a":"\ud83d x"}`:               `{"a":"\ufffd x"}`,
		`{"a":"\ud83d\ude00 \\ud83d"}`:   `{"a":"\ud83d\ude00 \\ud83d"}`,
		`{"a":1,"b":{"c":1,"c":9007199254740993},"a":2}`: `{"a":2,"b":{"c":9007199254740993}}`,
		`{"a":"<b>","a":"<c>\ud83d"}`:                    `{"a":"<c>�"}`,
	} {
		got, _ := one(llm.ToolCall{ID: "1", Name: "list_files", Arguments: given})
		require.Equal(t, want, got.Arguments, "%q", given)
	}
}

// Arguments that are cut off, or that could mean two objects, stay unchanged. The model then gets an error result.
func TestArgumentsThatAreNotPlainAreLeft(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		`{}`, ` { "a" : 1.0 } `, `{"a":1e400,"b":"<&>\u00fc"}`,
		`{"path":"a.txt","content":"abc`, `{"a":1`, "```json\n{\"a\":1\n```",
		`{city: Paris}`, `{'city': 'Paris'}`, `["a"]`, `"a"`, `7`, `true`,
		`{"a":1}{"b":2}`, `{"a":1},"b":2}`, `{"a":1} and then`, `{"a":1}</x>{"b":1}`,
		`"\"{}\""`, `{"a":"one` + "\n" + `two"}`,
	} {
		got, did := one(llm.ToolCall{ID: "1", Name: "list_files", Arguments: given})
		require.Equal(t, given, got.Arguments)
		require.Empty(t, did)
	}

	got, _ := one(llm.ToolCall{ID: "1", Name: "fetch_url", Arguments: ""})
	require.Empty(t, got.Arguments, "a call that is refused anyway is left alone")
}

// The reply reached the output limit before the arguments began. With {} as arguments the call would run.
func TestACallThatWasCutBeforeItsArgumentsIsNotRun(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"length", "MAX_TOKENS", "model_length"} {
		reply := repair.Reply(llm.Reply{FinishReason: reason, Message: llm.Message{ToolCalls: []llm.ToolCall{
			{ID: "1", Name: "list_files"}, {ID: "2", Name: "list_files"},
		}}}, llm.Request{Tools: tools})

		require.Equal(t, "{}", reply.Message.ToolCalls[0].Arguments, "the first was not cut")
		require.Equal(t, "{", reply.Message.ToolCalls[1].Arguments)
	}
}

func TestCallsThatAreTheWholeTextAreCalls(t *testing.T) {
	t.Parallel()
	paris := llm.ToolCall{ID: "call_0", Name: "get_weather", Arguments: `{"city": "Paris"}`}
	rome := llm.ToolCall{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Rome"}`}
	for text, want := range map[string][]llm.ToolCall{
		"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>": {paris},
		`<tool_call>{"name":"get_weather","arguments":{"city": "Paris"}}</tool_call>` + "\n" +
			`<tool_call>{"name":"Get_Weather","arguments":"{\"city\":\"Rome\"}"}`: {paris, rome},
		`{"type": "function", "name": "get_weather", "parameters": {"city": "Paris"}}`: {paris},
		`<function=get_weather={"city": "Paris"}</function>`:                           {paris},
		`<function=get_weather>{"city": "Paris"}</function>`:                           {paris},
		`<function=functions.get_weather({"city": "Paris"})></function>`:               {paris},

		`Write <tool_call>{"name":"get_weather","arguments":{}}</tool_call> to call it.`: nil,
		`<tool_call>{"name":"get_weather","arguments":{}}</tool_call> calls it.`:         nil,
		`<tool_call>{"name":"fetch_url","arguments":{}}</tool_call>`:                     nil,
		`<tool_call>{"name":"get_weather","arguments":{"city":</tool_call>`:              nil,
		`{"name":"get_weather"}`:                                   nil,
		`{"name":"get_weather","arguments":{},"note":"an answer"}`: nil,
		`{"name":"get_weather","arguments":{},"parameters":{}}`:    nil,
		`{"name":"get_weather","arguments":[]}`:                    nil,
		`{"name":7,"arguments":{}}`:                                nil,
		`{}`:                                                       nil, ``: nil, `Sunny.`: nil, `<b>`: nil,
	} {
		require.Equal(t, want, repair.Calls(text, tools), text)
	}
}

func TestTextIsNoCallWhereNoneIsWanted(t *testing.T) {
	t.Parallel()
	said := llm.Reply{Message: llm.Message{Content: `{"name":"get_weather","arguments":{}}`}}
	for name, req := range map[string]llm.Request{
		"no tools":           {},
		"none allowed":       {Tools: tools, Params: llm.Params{ToolChoice: "none"}},
		"JSON was asked for": {Tools: tools, Params: llm.Params{OutputSchema: []byte(`{"type":"object"}`)}},
	} {
		require.Equal(t, said, repair.Reply(said, req), name)
	}
}

func TestEachCallHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	reply := repair.Reply(llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{
		{ID: "", Name: "f"}, {ID: "call_0", Name: "f"}, {ID: "call_0", Name: "f"}, {ID: "functions.f:0", Name: "f"},
	}}}, llm.Request{})

	var ids []string
	for _, call := range reply.Message.ToolCalls {
		ids = append(ids, call.ID)
	}
	require.Equal(t, []string{"call_0_", "call_0", "call_2", "functions.f:0"}, ids)
}

func TestTheGivenReplyIsLeftAlone(t *testing.T) {
	t.Parallel()
	given := llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{{Name: "Get_Weather"}}}}
	repair.Reply(given, llm.Request{Tools: tools})
	require.Equal(t, llm.ToolCall{Name: "Get_Weather"}, given.Message.ToolCalls[0])
}
