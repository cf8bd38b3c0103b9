package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// messages makes the messages of a chat: first one of the user, then one of the assistant, and so on.
func messages(texts ...string) (all []object) {
	for i, text := range texts {
		all = append(all, object{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	return all
}

func (s *served) chat(texts ...string) string {
	s.t.Helper()
	return content(s.must("POST", "/chat/completions", object{"model": "x", "messages": messages(texts...)}))
}

// asked returns how many requests the model has got.
func asked(w *world.World) (n int) {
	for _, count := range w.Requests() {
		n += count
	}
	return n
}

func choice(completion object) object { return completion["choices"].([]any)[0].(object) }

func content(completion object) string {
	text, _ := choice(completion)["message"].(object)["content"].(string)
	return text
}

// A chat sends its messages and no ID. The gateway finds the agent whose transcript they are.
func TestChat(t *testing.T) {
	w, tools := newShop(t)
	s, other := serve(w), serve(w)
	first := s.chat("hello")
	require.Equal(t, "I heard /hello", first)
	require.Equal(t, "I heard /hello/again", other.chat("hello", first, "again"))
	require.Equal(t, "I heard /hello/again/more", s.chat("hello", first, "again", "I heard /hello/again", "more"))
	require.Equal(t, "I heard /hello/other", s.chat("hello", first, "other"), "an edited message is a branch")
	require.Equal(t, "I heard /hello/other/and", other.chat("hello", first, "other", "I heard /hello/other", "and"), "which goes on")
	require.Equal(t, "I heard /hello/again/more/last", s.chat("hello", first, "again", "I heard /hello/again", "more", "…", "last"))
	require.Equal(t, "I heard /hello/again", s.chat("hello", first, "again"), "the same message again is another answer")
	require.Equal(t, "I heard /hello", other.chat("hello"), "the same first message is another conversation")

	retried := s.with("X-Stainless-Retry-Count", "1")
	before := asked(w)
	require.Equal(t, "I heard /hello", retried.chat("hello"), "a retry is the same message")
	require.Equal(t, before, asked(w))
	keyed := s.with("Idempotency-Key", "order 7")
	require.Equal(t, "I heard /first", keyed.chat("first"))
	before = asked(w)
	require.Equal(t, "I heard /first", keyed.chat("first"))
	require.Equal(t, before, asked(w))

	named := s.with("X-OpenWebUI-Chat-Id", "chat 1")
	require.Equal(t, "I heard /hello", named.chat("hello"))
	require.Equal(t, "I heard /hello/again", named.chat("hello", first, "again"))
	require.Equal(t, "I heard /hello/edited", named.chat("hello", first, "edited"))
	require.Equal(t, "I heard /hello/edited/go on", named.chat("hello", first, "edited", "…", "go on"))
	require.Equal(t, "I heard /hello", s.with("X-OpenWebUI-Chat-Id", "chat 2").chat("hello"))
	require.Contains(t, named.chat("### Task:\nGenerate a title."), "I heard /### Task")
	require.Equal(t, "I heard /hello/edited/go on/so", named.chat("hello", first, "edited", "…", "go on", "…", "so"), "the title has not touched the conversation")

	require.Contains(t, s.chat("unknown", "this was said elsewhere", "what now?"), "this was said elsewhere")

	look := s.must("POST", "/chat/completions", object{"model": "x", "messages": messages("look")})
	require.Contains(t, content(look), "The tool says: did")
	require.Contains(t, choice(look)["message"].(object)["reasoning_content"], `look {"at":"plums"}`)
	require.NotContains(t, choice(look)["message"], "tool_calls")
	require.Len(t, tools.Effects(), 1)

	asks := s.chat("pay now")
	require.Contains(t, asks, `{"to":"kim"}`)
	require.Contains(t, s.chat("pay now", asks, "Yes."), "The tool says: did")
	require.Len(t, tools.Effects(), 2)
	asks = s.chat("pay later")
	require.Contains(t, s.chat("pay later", asks, "not today"), "not today")
	require.Len(t, tools.Effects(), 2)
	w.NothingTwice()
}

// A tool of the client is called by the client, and its result comes once, also to another gateway after the first one was killed.
func TestChatWithAToolOfTheClient(t *testing.T) {
	w, _ := newShop(t)
	s, other := serve(w), serve(w)
	weather := object{"type": "function", "function": object{"name": "weather", "parameters": object{"type": "object"}}}
	ask := object{"model": "x", "messages": messages("weather"), "tools": []any{weather}}
	out := s.must("POST", "/chat/completions", ask)
	require.Equal(t, "tool_calls", choice(out)["finish_reason"])
	calls := choice(out)["message"].(object)["tool_calls"].([]any)
	require.Len(t, calls, 1)
	require.JSONEq(t, `{"city":"Bern"}`, calls[0].(object)["function"].(object)["arguments"].(string))
	s.process.Kill()

	said := append(messages("weather"), object{"role": "assistant", "tool_calls": calls})
	status, refused := other.gets("POST", "/chat/completions", object{"model": "x", "messages": append(said, object{"role": "user", "content": "well?"}), "tools": []any{weather}})
	require.Equal(t, http.StatusBadRequest, status, refused)
	said = append(said, object{"role": "tool", "tool_call_id": calls[0].(object)["id"], "content": "sun"})
	require.Equal(t, "The tool says: sun", content(other.must("POST", "/chat/completions", object{"model": "x", "messages": said, "tools": []any{weather}})))
	again := object{"model": "x", "messages": said, "tools": []any{weather}}
	require.Equal(t, "The tool says: sun", content(other.with("X-Stainless-Retry-Count", "1").must("POST", "/chat/completions", again)))
	said = append(said, object{"role": "assistant", "content": "The tool says: sun"}, object{"role": "user", "content": "thanks"})
	require.Equal(t, "I heard /weather/thanks", content(other.must("POST", "/chat/completions", object{"model": "x", "messages": said, "tools": []any{weather}})))
	w.NothingTwice()
}

func TestChatStream(t *testing.T) {
	w, _ := newShop(t)
	s := serve(w)
	for _, input := range []string{"long", "look", "pay"} {
		all := s.stream("POST", "/chat/completions", object{"model": "x", "messages": messages(input), "stream": true, "stream_options": object{"include_usage": true}})
		text, finish := "", ""
		for _, e := range all {
			require.Equal(t, "chat.completion.chunk", e.object["object"])
			if choices := e.object["choices"].([]any); len(choices) > 0 {
				delta := choices[0].(object)["delta"].(object)
				piece, _ := delta["content"].(string)
				text += piece
				if reason, ok := choices[0].(object)["finish_reason"].(string); ok {
					finish = reason
				}
			}
		}
		require.Equal(t, "stop", finish)
		require.NotNil(t, all[len(all)-1].object["usage"])
		if input == "long" {
			require.Equal(t, long, text)
			require.Greater(t, len(all), 4)
		}
	}
	status, refused := s.gets("POST", "/chat/completions", `{"model": "x", "messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.True(t, strings.Contains(refused["error"].(object)["message"].(string), "input_audio"), refused)
}
