package standin_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

func TestOpenRouterWantsItsDetailsBack(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"anthropic/claude", "openai/gpt"} {
		for way := range ways {
			t.Run(model+" "+way, func(t *testing.T) {
				t.Parallel()
				p := standin.OpenRouter()
				reply := calls("1", "2")
				reply.Message.Reasoning = "The user wants two calls, and says so."
				d := talk(t, p, reply, llmtest.Say("Done."), llmtest.Say("b")).in(way)
				d.name = model

				first := d.hear()
				require.Equal(t, reply.Message.Reasoning, first["reasoning"])
				require.NotContains(t, first, "reasoning_content")
				require.Contains(t, text(t, first["reasoning_details"]), reply.Message.Reasoning)
				second := d.say(without(first, "reasoning"), result("1"), result("2")).hear()
				require.NotEmpty(t, second["reasoning_details"])
				require.Equal(t, "b", d.say(second, user("Done.")).hear()["content"], "the user may say what the model said")
				require.Empty(t, p.Violations())
				for _, entry := range d.messages[1]["reasoning_details"].([]any) { //nolint:forcetypeassert // a test may panic
					entry.(object)["index"] = 7 //nolint:forcetypeassert // a test may panic
				}
				d.hear()
				require.Empty(t, p.Violations(), "the index may change")

				d.messages[1] = without(first, "reasoning_details")
				require.Equal(t, "b", d.hear()["content"])
				require.Equal(t, []string{"messages[1]: the reasoning_details are missing"}, p.Violations())
			})
		}
	}
}

func TestOpenRouterSendsDetailsInFragments(t *testing.T) {
	t.Parallel()
	d := talk(t, standin.OpenRouter(), llmtest.Say("b")).in("stream")
	_, body := d.post()
	require.Regexp(t, `"reasoning_details":\[{"format":"anthropic-claude-v1","index":0,"text":"I think","type":"reasoning.text"}]`, body)
	require.Regexp(t, `"reasoning_details":\[{"format":"anthropic-claude-v1","index":0,"signature":"[^"]+","type":"reasoning.text"}]`, body)
}

func TestOpenRouterRepeatsTheIndexInAStream(t *testing.T) {
	t.Parallel()
	for way, want := range map[string]float64{"whole": 1, "stream": 0} {
		d := talk(t, standin.OpenRouter(), llmtest.Say("b")).in(way)
		d.name = "openai/gpt"
		list := d.hear()["reasoning_details"].([]any) //nolint:forcetypeassert // a test may panic
		require.Len(t, list, 2)
		require.Zero(t, list[0].(object)["index"])        //nolint:forcetypeassert // a test may panic
		require.Equal(t, want, list[1].(object)["index"]) //nolint:forcetypeassert // a test may panic
	}
}

func TestOpenRouterRefusesAChangedSignature(t *testing.T) {
	t.Parallel()
	p := standin.OpenRouter()
	d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
	first := d.hear()
	first["reasoning_details"].([]any)[0].(object)["text"] = "other" //nolint:forcetypeassert // a test may panic
	d.say(first, result("1"), result("2")).refused(http.StatusBadRequest,
		"{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":{\"provider_name\":\"Anthropic\",\"raw\":\"{\\\"type\\\":\\\"error\\\",\\\"error\\\":{\\\"type\\\":\\\"invalid_request_error\\\",\\\"message\\\":\\\"messages.1.content.0: Invalid `signature` in `thinking` block\\\"}}\"}}}")
	require.Empty(t, p.Violations())
}

func TestOpenRouterNoticesDetailsInPieces(t *testing.T) {
	t.Parallel()
	p := standin.OpenRouter()
	d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
	d.name = "openai/gpt"
	first := d.hear()
	list := first["reasoning_details"].([]any)                   //nolint:forcetypeassert // a test may panic
	first["reasoning_details"] = append([]any{list[0]}, list...) // as from a client that does not join fragments
	require.Equal(t, "b", d.say(first, result("1"), result("2")).hear()["content"])
	require.Equal(t, []string{"messages[1]: the reasoning_details are changed"}, p.Violations())
}
