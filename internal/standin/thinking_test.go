package standin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// thinking are the providers that need the member `reasoning_content` back.
var thinking = map[string]func() *standin.Provider{"DeepSeek": standin.DeepSeek, "Kimi": standin.Kimi}

const (
	deepSeekRefusal = "{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"invalid_request_error\"}}"
	kimiRefusal     = `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1","type":"invalid_request_error"}}`
)

var thinkingRefusals = map[string]string{"DeepSeek": deepSeekRefusal, "Kimi": kimiRefusal}

func TestAReasoningMustComeBackWithTheCalls(t *testing.T) {
	t.Parallel()
	for name, provider := range thinking {
		for way := range ways {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				p := provider()
				reply := calls("1", "2")
				reply.Message.Reasoning = "The user wants two calls."
				d := talk(t, p, reply, calls("3", "4"), llmtest.Say("Done."), llmtest.Say("b")).in(way)

				first := d.hear()
				require.Equal(t, "The user wants two calls.", first["reasoning_content"])
				before := d.messages
				d.say(without(first, "reasoning_content"), result("1"), result("2")).refused(http.StatusBadRequest, thinkingRefusals[name])
				d.messages = before
				d.say(with(first, "reasoning_content", nil), result("1"), result("2")).refused(http.StatusBadRequest, thinkingRefusals[name])

				d.messages = before
				second := d.say(first, result("1"), result("2")).hear()
				require.NotEmpty(t, second["reasoning_content"], "each reply has a reasoning")
				third := d.say(second, result("3"), result("4")).hear()
				require.NotEmpty(t, third["reasoning_content"])
				require.Equal(t, "b", d.say(third, user("And?")).hear()["content"])
				require.Empty(t, p.Violations())

				d.messages[1] = without(d.messages[1], "reasoning_content")
				d.refused(http.StatusBadRequest, thinkingRefusals[name])
			})
		}
	}
}

func TestAReasoningIsNotNeededWhereNothingIsThought(t *testing.T) {
	t.Parallel()
	for name, provider := range thinking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			off := object{"type": "disabled"}
			d := talk(t, provider(), llmtest.Say("unused"), llmtest.Say("b")).say(step("1", "2")...).with("thinking", off)
			require.NotContains(t, d.hear(), "reasoning_content")

			p := provider()
			plain := talk(t, p, llmtest.Say("unused"), llmtest.Say("b")).say(object{"role": "assistant", "content": "x"}, user("y"))
			require.Equal(t, "b", plain.hear()["content"], "messages without calls need no reasoning")
			require.Empty(t, p.Violations())
		})
	}
}

func TestDeepSeekAcceptsAnEmptyReasoningAndRefusesAnotherOne(t *testing.T) {
	t.Parallel()
	p := standin.DeepSeek()
	d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
	first := d.hear()
	before := d.messages
	require.Equal(t, "b", d.say(with(first, "reasoning_content", ""), result("1"), result("2")).hear()["content"])
	d.messages = before
	d.say(with(first, "reasoning_content", "other"), result("1"), result("2")).refused(http.StatusBadRequest, deepSeekRefusal)

	foreign := talk(t, p, llmtest.Say("unused"), llmtest.Say("b")).say(step("8", "9")...)
	foreign.messages[1]["reasoning_content"] = "a thought of another provider"
	require.Equal(t, "b", foreign.hear()["content"], "of calls that DeepSeek did not make, any text is accepted")
}

func TestDeepSeekWantsTheReasoningOfTheWholeTurn(t *testing.T) {
	t.Parallel()
	p := standin.DeepSeek()
	d := talk(t, p, calls("1", "2"), llmtest.Say("Done."), llmtest.Say("b"))
	first := d.hear()
	last := d.say(first, result("1"), result("2")).hear()
	require.Equal(t, "b", d.say(without(last, "reasoning_content"), user("And?")).hear()["content"])
	require.Equal(t, []string{"messages[4]: the last message of a turn with calls has no reasoning_content"}, p.Violations())
}

func TestKimiRefusesAnEmptyReasoning(t *testing.T) {
	t.Parallel()
	p := standin.Kimi()
	d := talk(t, p, calls("1", "2"), llmtest.Say("b"))
	first := d.hear()
	before := d.messages
	d.say(with(first, "reasoning_content", ""), result("1"), result("2")).refused(http.StatusBadRequest, kimiRefusal)
	d.messages = before
	require.Equal(t, "b", d.say(with(first, "reasoning_content", " "), result("1"), result("2")).hear()["content"], "the presence is enough")
	require.Equal(t, []string{"messages[1]: the reasoning_content is not the one that was sent"}, p.Violations())
}

func TestKimiCanKeepAllReasoning(t *testing.T) {
	t.Parallel()
	d := talk(t, standin.Kimi(), llmtest.Say("a"), llmtest.Say("b")).with("thinking", object{"type": "enabled", "keep": "all"})
	d.say(object{"role": "assistant", "content": "x"}, user("y")).refused(http.StatusBadRequest,
		`{"error":{"message":"preserved thinking (thinking.keep=all) requires reasoning_content on every assistant message, but assistant message at index 1 is missing reasoning_content","type":"invalid_request_error"}}`)
	d.messages[1]["reasoning_content"] = ""
	require.Equal(t, "b", d.hear()["content"])
	d.messages = append(d.messages[:1:1], step("1", "2")...)
	d.messages[1]["reasoning_content"] = ""
	require.Equal(t, "b", d.hear()["content"], "in this mode, an empty text is enough for calls, too")
}

func TestKimiCountsCachedTokensAtTheTopLevel(t *testing.T) {
	t.Parallel()
	reply := llmtest.Say("Hi.")
	reply.Usage = llm.Usage{InputTokens: 9, CachedTokens: 5, OutputTokens: 1}
	for _, stream := range []bool{false, true} {
		d := talk(t, standin.Kimi(), reply)
		if d.stream = stream; stream {
			d.with("stream_options", object{"include_usage": true})
		}
		_, body := d.post()
		require.Contains(t, body, `"cached_tokens":5`)
		require.NotContains(t, body, "prompt_tokens_details")
	}
	_, body := talk(t, nil, reply).post()
	require.Contains(t, body, `"prompt_tokens_details":{"cached_tokens":5}`)
	require.Equal(t, 1, strings.Count(body, "cached_tokens"))
}

func TestMiniMaxWantsTheThinkingInTheContentBack(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := standin.MiniMax()
			reply := calls("1", "2")
			reply.Message.Content, reply.Message.Reasoning = "Let me see.", "The user wants two calls."
			d := talk(t, p, reply, llmtest.Say("Done."), llmtest.Say("b")).in(way)

			first := d.hear()
			require.Equal(t, "<think>\nThe user wants two calls.\n</think>\n\nLet me see.", first["content"])
			require.NotContains(t, first, "reasoning_content")
			second := d.say(first, result("1"), result("2")).hear()
			require.Regexp(t, "^<think>\n.+\n</think>\n\nDone.$", second["content"])
			require.Equal(t, "b", visible(d.say(second, user("Done.")).hear()), "the user may say what the model said")
			require.Empty(t, p.Violations())

			d.messages[1] = with(first, "content", "Let me see.")
			d.messages[4] = with(second, "content", "<think>other</think>Done.")
			require.Equal(t, "b", visible(d.hear()), "MiniMax refuses nothing")
			require.Equal(t, []string{"messages[1]: the reasoning is missing", "messages[4]: the reasoning is changed"}, p.Violations())
		})
	}
}

// visible returns the content of a message after its thinking.
func visible(message object) string {
	_, content, _ := strings.Cut(message["content"].(string), "</think>\n\n") //nolint:forcetypeassert // a test may panic
	return content
}

func TestMiniMaxCanSplitTheThinkingFromTheContent(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := standin.MiniMax()
			d := talk(t, p, calls("1", "2"), llmtest.Say("b")).in(way).with("reasoning_split", true)

			first := d.hear()
			require.NotContains(t, text(t, first["content"]), "think")
			require.Len(t, first["reasoning_details"], 1)
			before := d.messages
			require.Equal(t, "b", d.say(first, result("1"), result("2")).hear()["content"])
			require.Empty(t, p.Violations())

			d.messages = before
			require.Equal(t, "b", d.say(without(first, "reasoning_details"), result("1"), result("2")).hear()["content"])
			require.Equal(t, []string{"messages[1]: the reasoning is missing"}, p.Violations())
		})
	}
}
