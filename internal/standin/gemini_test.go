package standin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// signed returns a copy of a message whose call number `n` has the given signature.
func signed(t *testing.T, message object, n int, signature string) object {
	t.Helper()
	message = copied(message)
	callsOf(message)[n]["extra_content"] = object{"google": object{"thought_signature": signature}}
	return message
}

// unsigned returns a copy of a message without signatures.
func unsigned(t *testing.T, message object) object {
	t.Helper()
	message = without(message, "extra_content")
	for _, call := range callsOf(message) {
		delete(call, "extra_content")
	}
	return message
}

const corrupted = `[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`

func unsignedCall(name, position string) string {
	return "[{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:" +
		name + "` , position " + position + ". Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.\"}}]"
}

func TestGeminiSignsTheFirstCallAndNeedsItBack(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := standin.Gemini()
			d := talk(t, p, calls("1", "2"), calls("1", "2"), llmtest.Say("Done.")).in(way)
			d.messages = []object{{"role": "system", "content": "Be short."}, user("Hello")}

			first := d.hear()
			require.NotEmpty(t, callsOf(first)[0]["extra_content"])
			require.NotContains(t, callsOf(first)[1], "extra_content", "only the first of parallel calls has a signature")
			require.NotContains(t, first, "extra_content")

			before := d.messages
			d.say(unsigned(t, first), result("1"), result("2")).refused(http.StatusBadRequest, unsignedCall("f", "2"))
			d.messages = before
			d.say(signed(t, first, 0, "c2lnbmF0dXJl"), result("1"), result("2")).refused(http.StatusBadRequest, corrupted)

			d.messages = before
			second := d.say(first, result("1"), result("2")).hear()
			require.NotEqual(t, callsOf(first)[0]["extra_content"], callsOf(second)[0]["extra_content"], "each signature is another one")
			before = d.messages
			d.say(unsigned(t, second), result("1"), result("2")).refused(http.StatusBadRequest, unsignedCall("f", "4"))
			d.messages = before
			require.Equal(t, "Done.", d.say(second, result("1"), result("2")).hear()["content"])
			require.Empty(t, p.Violations())
		})
	}
}

func TestGeminiSignsATextAndWantsItBack(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := standin.Gemini()
			d := talk(t, p, llmtest.Say("A text of some length."), llmtest.Say("b")).in(way)

			first := d.hear()
			require.Equal(t, "A text of some length.", first["content"])
			require.NotEmpty(t, first["extra_content"])
			before := d.messages
			require.Equal(t, "b", d.say(first, user("And?")).hear()["content"])
			require.Empty(t, p.Violations())

			d.messages = before
			require.Equal(t, "b", d.say(unsigned(t, first), user("And?")).hear()["content"], "a text needs no signature")
			require.Equal(t, []string{"messages[1]: the signature of the text is missing or changed"}, p.Violations())
		})
	}
}

func TestGeminiStreamsWholeCallsWithoutAnIndex(t *testing.T) {
	t.Parallel()
	reply := calls("1", "2")
	_, body := talk(t, standin.Gemini(), reply).in("stream").post()
	require.NotRegexp(t, `"tool_calls":\[{[^]]*"index"`, body)
	for _, call := range reply.Message.ToolCalls {
		require.Contains(t, body, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text(t, call.Arguments)))
	}
	_, body = talk(t, standin.OpenAI(), reply).in("stream").post()
	require.Regexp(t, `"tool_calls":\[{[^]]*"index"`, body, "other providers send an index")
}

func TestGeminiTakesTheSignatureOfTheScript(t *testing.T) {
	t.Parallel()
	reply := calls("1", "2")
	reply.Message.ToolCalls[0].Opaque.Data = `{"extra_content":{"google":{"thought_signature":"abc"}}}`
	d := talk(t, standin.Gemini(), reply, llmtest.Say("b"))
	first := d.hear()
	require.Equal(t, object{"google": object{"thought_signature": "abc"}}, callsOf(first)[0]["extra_content"])
	require.Equal(t, "b", d.say(first, result("1"), result("2")).hear()["content"])
}

func TestGeminiChecksOnlyTheRunningTurn(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*testing.T, object) object{
		"missing": unsigned,
		"changed": func(t *testing.T, m object) object { return signed(t, m, 0, "other") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := standin.Gemini()
			d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
			first := d.hear()
			require.Equal(t, "b", d.say(edit(t, first), result("1"), result("2"), user("And?")).hear()["content"])
			require.Len(t, p.Violations(), 1, "but the documentation asks for all signatures")
		})
	}
}

func TestGeminiAcceptsTheSentinelForForeignCalls(t *testing.T) {
	t.Parallel()
	for _, sentinel := range []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"} {
		p := standin.Gemini()
		d := talk(t, p, llmtest.Say("unused"), llmtest.Say("b"))
		foreign := step("1", "2")
		foreign[0] = signed(t, foreign[0], 0, sentinel)
		require.Equal(t, "b", d.say(foreign...).hear()["content"])
		require.Empty(t, p.Violations())
	}
}

func TestGeminiNoticesASignatureInTheWrongPlace(t *testing.T) {
	t.Parallel()
	p := standin.Gemini()
	d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
	first := d.hear()
	own := callsOf(first)[0]["extra_content"]
	twice, moved := copied(first), copied(first)
	callsOf(twice)[1]["extra_content"] = own
	callsOf(moved)[0]["function"] = object{"name": "h", "arguments": "{}"}
	before := d.messages
	require.Equal(t, "b", d.say(twice, result("1"), result("2")).hear()["content"])
	d.messages = before
	require.Equal(t, "b", d.say(moved, result("1"), result("2")).hear()["content"])
	require.Equal(t, []string{
		"messages[1]: call number 1 has a signature, but only the first call may have one",
		"messages[1]: the signature belongs to another call",
	}, p.Violations())
}

func TestGeminiRefusesSchemasWithoutPropertiesAndUnknownMembers(t *testing.T) {
	t.Parallel()
	const schema = `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type\n","status":"INVALID_ARGUMENT"}}]`
	ask := func() *dialogue { return talk(t, standin.Gemini(), llmtest.Say("b")) }

	ask().with("tools", []any{tool(object{"type": "object", "properties": object{}})}).refused(http.StatusBadRequest, schema)
	ask().with("tools", []any{tool(object{"type": "object"})}).refused(http.StatusBadRequest, schema)
	require.Equal(t, "b", ask().with("tools", []any{tool(nil)}).hear()["content"], "a tool without parameters has no schema")
	require.Equal(t, "b", ask().with("tools", []any{tool(object{"type": "object", "properties": object{"a": object{"type": "string"}}})}).hear()["content"])

	ask().with("seed", 1).refused(http.StatusBadRequest,
		`[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\": Cannot find field.","status":"INVALID_ARGUMENT"}}]`)
}
