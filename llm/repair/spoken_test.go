package repair_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

// typed are tools with schemas, for calls whose markup has no types.
var typed = []llm.ToolSpec{
	{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"exact":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"tags":{}}}`)},
	{Name: "list_files", Parameters: []byte(`{"type":"object"}`)},
}

// written returns the repaired reply of a model that wrote a text.
func written(text string, params llm.Params) llm.Reply {
	return repair.Reply(llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: text}}, llm.Request{Tools: typed, Params: params})
}

const paris = `{"city":"Paris"}`

// markups are calls of get_weather for Paris, each in the markup of a model.
var markups = map[string]string{
	"Hermes":          `<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>`,
	"Hermes list":     `<tool_call>[{"name":"get_weather","arguments":{"city":"Paris"}}]</tool_call>`,
	"Qwen-Coder":      "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
	"Seed":            "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</seed:tool_call>",
	"GLM":             "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
	"MiniMax":         "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</minimax:tool_call>",
	"Claude":          "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</function_calls>",
	"DSML V3.2":       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	"DeepSeek V3":     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\":\"Paris\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
	"DeepSeek V3.1":   `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city":"Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
	"Kimi K2":         `<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city":"Paris"}<|tool_call_end|><|tool_calls_section_end|>`,
	"Mistral list":    `[TOOL_CALLS][{"name":"get_weather","arguments":{"city":"Paris"},"id":"123456789"}]`,
	"Mistral":         `[TOOL_CALLS]get_weather[CALL_ID]123456789[ARGS]{"city":"Paris"}</s>`,
	"Mistral, no ID":  `[TOOL_CALLS]get_weather[ARGS]{"city":"Paris"}`,
	"Devstral":        `[TOOL_CALLS]get_weather{"city":"Paris"}`,
	"Llama":           `<|python_tag|>{"name":"get_weather","parameters":{"city":"Paris"}}<|eom_id|>`,
	"Phi-4":           `<|tool_call|>[{"name":"get_weather","arguments":{"city":"Paris"}}]<|/tool_call|>`,
	"Nemotron":        `<TOOLCALL>[{"name":"get_weather","arguments":{"city":"Paris"}}]</TOOLCALL>`,
	"Command R":       `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"get_weather","parameters":{"city":"Paris"}}]<|END_ACTION|>`,
	"harmony":         `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>`,
	"harmony, start":  `<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city":"Paris"}`,
	"harmony, thinks": `<|channel|>analysis<|message|>Paris?<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{"city":"Paris"}<|call|>`,
}

// unmarkedCalls are calls of get_weather for Paris that are written without markup.
var unmarkedCalls = map[string]string{
	"JSON":            `{"name":"get_weather","arguments":{"city":"Paris"}}`,
	"list":            `[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	"code fence":      "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	"OpenAI":          `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]}`,
	"OpenAI function": `{"type":"function","function":{"name":"get_weather","arguments":{"city":"Paris"}}}`,
	"function's name": `{"type":"function","function":"get_weather","parameters":{"city":"Paris"}}`,
	"Phi-4-mini":      `functools[{"name":"get_weather","arguments":{"city":"Paris"}}]`,
	"Gemma":           "```tool_code\nprint(default_api.get_weather(city='Paris'))\n```",
	"Llama, Python":   `[get_weather(city="Paris")]`,
}

func TestCallInTheMarkupOfAModelIsACall(t *testing.T) {
	t.Parallel()
	for name, text := range markups {
		got := written(text, llm.Params{OutputSchema: []byte(`{"type":"object"}`)})
		require.Len(t, got.Message.ToolCalls, 1, "%s: %s", name, got.Message.Content)
		require.Equal(t, "get_weather", got.Message.ToolCalls[0].Name, name)
		require.JSONEq(t, paris, got.Message.ToolCalls[0].Arguments, name)
		require.Empty(t, got.Message.Content, name)
	}
}

// A model may quote a call that stands in a file or in the result of a tool. Such a call is never run.
func TestAttackQuotedCallIsNotRun(t *testing.T) {
	t.Parallel()
	for name, text := range markups {
		if name == "harmony, thinks" {
			continue // a text with reasoning has nothing but messages
		}
		for _, around := range [][2]string{
			{"The log ends with:\n\n", ""}, {"", "\nThat is what the file contains."}, {"Example:\n\n    ", ""}, {"> ", ""},
			{"The last line is ", ""}, {"```\n", "\n```"},
		} {
			other := around[0] + text + around[1]
			got := written(other, llm.Params{})
			requireNotRun(t, got)
			require.NotEmpty(t, got.Message.Content, name)
		}
	}
}

// requireNotRun checks that the agent would not run any call of a reply, because the arguments are not JSON objects.
func requireNotRun(t *testing.T, reply llm.Reply) {
	t.Helper()
	for _, call := range reply.Message.ToolCalls {
		require.False(t, llm.IsObject(call.Arguments), call.Arguments)
	}
}

// A text with a call is not an answer, and the call is not run. The model learns it once, so that it can still answer with such a text.
func TestCallBesideTextIsRefusedOnce(t *testing.T) {
	t.Parallel()
	for name, text := range markups {
		if name == "harmony, thinks" {
			continue // a text with reasoning has nothing but messages
		}
		for _, around := range [][2]string{{"I'll look that up.\n\n", ""}, {"", "\n\nI am waiting."}, {"I'll look.", ""}} {
			other := around[0] + text + around[1]
			got := written(other, llm.Params{})
			require.Len(t, got.Message.ToolCalls, 1, "%s: %s", name, other)
			require.Equal(t, "get_weather", got.Message.ToolCalls[0].Name, name)
			require.Contains(t, got.Message.ToolCalls[0].Arguments, "Paris", name)
			require.Equal(t, strings.TrimSpace(around[0]+around[1]), got.Message.Content, name)
			requireNotRun(t, got)

			result := llm.Message{Role: llm.Tool, ToolCallID: got.Message.ToolCalls[0].ID, Content: "error"}
			req := llm.Request{Tools: typed, Messages: []llm.Message{got.Message, result}}
			again := repair.Reply(llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: other}}, req)
			require.Empty(t, again.Message.ToolCalls, name)
			require.Equal(t, other, again.Message.Content, name)
		}
		for _, other := range []string{"> " + text, "```\n" + text, "Write `" + text, strings.ReplaceAll("See.\n"+text, "get_weather", "fetch_url")} {
			require.Equal(t, strings.TrimSpace(other), written(other, llm.Params{}).Message.Content, name)
		}
	}
}

// If a value contains the closing tags of its own call, the call is not run with a part of the value.
func TestCallIsNotRunWithAPartOfAValue(t *testing.T) {
	t.Parallel()
	got := written("<tool_call>\n<function=get_weather>\n<parameter=city>\nClose with\n</parameter>\n</function>\nand go on.\n</parameter>\n</function>\n</tool_call>", llm.Params{})
	requireNotRun(t, got)
}

func TestCallWithoutMarkupIsACallOnlyAlone(t *testing.T) {
	t.Parallel()
	for name, text := range unmarkedCalls {
		got := written(text, llm.Params{})
		require.Len(t, got.Message.ToolCalls, 1, name)
		require.JSONEq(t, paris, got.Message.ToolCalls[0].Arguments, name)
		for _, other := range []string{"See:\n" + text, text + "\nIs it right?", strings.ReplaceAll(text, "get_weather", "fetch_url")} {
			require.Equal(t, other, written(other, llm.Params{}).Message.Content, name)
		}
		require.Equal(t, text, written(text, llm.Params{OutputSchema: []byte(`{"type":"object"}`)}).Message.Content, name)
	}
}

// Wherever a text in markup is cut off, the call is not run with other arguments than the model wrote.
func TestCallThatIsCutOffIsNeverRun(t *testing.T) {
	t.Parallel()
	for name, text := range markups {
		for end := range len(text) {
			for _, call := range written(text[:end], llm.Params{}).Message.ToolCalls {
				if call.Name == "get_weather" && llm.IsObject(call.Arguments) {
					require.JSONEq(t, paris, call.Arguments, "%s: %s", name, text[:end])
				}
			}
		}
	}
}

func TestAnswerAboutACallIsAnAnswer(t *testing.T) {
	t.Parallel()
	for name, text := range markups {
		for _, answer := range []string{
			"A call looks like this:\n\n```\n" + text + "\n```\nThe server parses it.",
			"```\n" + text + "\n```",
			"Before.\n\n" + text + "\n\nAfter.",
			"Write `" + text + "` to call it.",
			text + " calls it.",
		} {
			got := written(answer, llm.Params{}).Message
			require.Empty(t, got.ToolCalls, "%s: %s", name, answer)
			if name != "harmony, thinks" {
				require.Equal(t, answer, got.Content, name)
			}
		}
	}
}

func TestModelReadsWhyItsMarkupWasNotRun(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]llm.ToolCall{
		`<tool_call>{"name":"fetch_url","arguments":{}}</tool_call>`:                                                       {Name: "fetch_url", Arguments: "{}"},
		"<function=fetch_url>\n<parameter=url>\nx\n</parameter>\n</function>":                                              {Name: "fetch_url", Arguments: `{"url":"x"}`},
		`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": Paris}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`: {Name: "get_weather", Arguments: `{"city": Paris}`},
	} {
		want.ID = "call_0"
		require.Equal(t, []llm.ToolCall{want}, written(text, llm.Params{}).Message.ToolCalls)
		require.Nil(t, repair.Calls(`<tool_call>{"name":"fetch_url","arguments":{}}</tool_call>`, typed))
	}
}

func TestSchemaDecidesTheTypesOfParameters(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[string]string{
		`city=75001`:                       `{"city":"75001"}`,
		`city={"a":1}`:                     `{"city":"{\"a\":1}"}`,
		`city=<b>&"`:                       `{"city":"<b>&\""}`,
		`days=3`:                           `{"days":3}`,
		`days=three`:                       `{"days":"three"}`,
		`exact=True`:                       `{"exact":true}`,
		`exact=null`:                       `{"exact":null}`,
		`tags=["a"]`:                       `{"tags":["a"]}`,
		`tags=a`:                           `{"tags":"a"}`,
		`days=3;city=` + "\n two\nlines\n": `{"days":3,"city":"\n two\nlines\n"}`,
	} {
		var xml, invoke strings.Builder
		for p := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(p, "=")
			xml.WriteString("<parameter=" + name + ">\n" + value + "\n</parameter>\n")
			invoke.WriteString(`<parameter name="` + name + `">` + value + "</parameter>\n")
		}
		for _, text := range []string{
			"<function=get_weather>\n" + xml.String() + "</function>", `<invoke name="get_weather">` + invoke.String() + "</invoke>",
		} {
			got := written(text, llm.Params{}).Message.ToolCalls
			require.Len(t, got, 1, text)
			require.Equal(t, want, got[0].Arguments, text)
		}
	}
}

func TestContradictoryParametersAreNoCall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<function=get_weather>\n<parameter=city>a</parameter>\n<parameter=city>b</parameter>\n</function>",
		`<｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="days" string="false">three</｜DSML｜parameter></｜DSML｜invoke>`,
		"```tool_code\nget_weather(city=\"a\", city=\"b\")\n```",
		"```tool_code\nget_weather(\"a\")\n```", "```tool_code\nget_weather(city=home)\n```", "```tool_code\nget_weather(city=\"a\"\n```",
		"```tool_code\nget_weather(city=\"a\" \"b\")\n```",
	} {
		require.Empty(t, written(text, llm.Params{}).Message.ToolCalls, text)
	}
}

func TestLiteralsOfPythonAreJSON(t *testing.T) {
	t.Parallel()
	got := written("```tool_code\n"+`get_weather(city='it\'s "x"\n', days=-3, exact=None, tags=[True, 1.5, {'a': []}],)`+"\nlist_files()\n```", llm.Params{})
	require.Len(t, got.Message.ToolCalls, 2)
	require.Equal(t, `{"city":"it's \"x\"\n","days":-3,"exact":null,"tags":[true,1.5,{"a":[]}]}`, got.Message.ToolCalls[0].Arguments)
	require.Equal(t, "{}", got.Message.ToolCalls[1].Arguments)
}

func TestSeveralCallsOfOneText(t *testing.T) {
	t.Parallel()
	text := "<tool_call>\n" + `{"name":"get_weather","arguments":{"city":"Paris"}}` + "\n</tool_call>\n<tool_call>list_files\n</tool_call>"
	require.Len(t, written(text, llm.Params{}).Message.ToolCalls, 2)
	requireNotRun(t, written(text[:len(text)-3], llm.Params{})) // the second call is cut off
}
