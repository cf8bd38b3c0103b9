package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// script returns replies for a conversation: with tool calls, text and reasoning. The third reply has 30 calls.
func script() []llm.Reply {
	var replies []llm.Reply
	for i := range 15 {
		calls := 1 + i%3
		if i == 2 {
			calls = 30
		}
		var reply llm.Reply
		if i%5 == 4 {
			reply = llmtest.Say(fmt.Sprint("Answer ", i))
		} else {
			for j := range calls {
				reply.Message.ToolCalls = append(reply.Message.ToolCalls, llmtest.ToolCall(fmt.Sprintf("call_%d", j), "read_file", fmt.Sprintf(`{"path":"%d-%d <b>"}`, i, j)))
			}
		}
		if i%2 == 0 {
			reply.Message.Reasoning = fmt.Sprint("Thought ", i)
		}
		replies = append(replies, reply)
	}
	return replies
}

// converse runs a conversation with a client. It returns the usage of each reply.
func converse(t *testing.T, client llm.Client, req llm.Request) []llm.Usage {
	t.Helper()
	req.Tools = []llm.ToolSpec{
		{Name: "list_files"},
		{Name: "read_file", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"a":{"type":"string"}}}`)},
	}
	var all []llm.Usage
	for i := range script() {
		reply, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		all = append(all, reply.Usage)
		req.Messages = append(req.Messages, reply.Message)
		for _, call := range reply.Message.ToolCalls {
			req.Messages = append(req.Messages, result(call.ID, "The content of "+call.Arguments))
		}
		if len(reply.Message.ToolCalls) == 0 || i%4 == 0 {
			req.Messages = append(req.Messages, user(fmt.Sprint("Question ", i)))
		}
	}
	require.Greater(t, len(req.Messages), 30)
	return all
}

// Each request after the first reads exactly what the request before it has read and written, even if 60 blocks were added in between.
func TestEachRequestReadsWhatTheOneBeforeWrote(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][]llm.Message{
		"with a system prompt":    {{Role: llm.System, Content: "Be brief."}, user("Go.")},
		"without a system prompt": {user("Go.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := &standin.Endpoint{Client: llmtest.Script(script()...)}
			cache := &standin.PromptCache{}
			endpoint.PromptCache = cache
			req := ask(messages...)
			req.Params.ReasoningEffort = "low"
			usages := converse(t, serve(t, endpoint), req)

			counts := cache.Counts()
			require.Len(t, counts, len(usages))
			for i, n := range counts {
				require.Zero(t, n.New, "request %d", i)
				require.Positive(t, n.Written, "request %d", i)
				require.Equal(t, llm.Usage{InputTokens: n.Read + n.Written, CachedTokens: n.Read, CacheWriteTokens: n.Written}, usages[i])
				if i > 0 {
					require.Equal(t, counts[i-1].Read+counts[i-1].Written, n.Read, "request %d", i)
				}
			}
			require.Zero(t, counts[0].Read)

			for _, r := range endpoint.Requests() {
				require.LessOrEqual(t, strings.Count(string(r.Body), `"cache_control":{"type":"ephemeral"}`), 4)
			}
		})
	}
}

// Another agent with the same tools and the same system prompt reads them from the cache.
func TestAgentsShareToolsAndSystemPrompt(t *testing.T) {
	t.Parallel()
	cache := &standin.PromptCache{}
	cached := &standin.Endpoint{Client: hi(), PromptCache: cache}
	client := serve(t, cached)
	for _, question := range []string{"a", "b"} {
		req := ask(llm.Message{Role: llm.System, Content: "Be brief."}, user(question))
		req.Tools = []llm.ToolSpec{{Name: "f"}, {Name: "g"}}
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	require.Positive(t, cache.Counts()[1].Read)
}

// A text that the client adds at the end is not in the next request. So the mark is before it.
func TestATextOfTheClientIsNotCached(t *testing.T) {
	t.Parallel()
	cache := &standin.PromptCache{}
	cached := &standin.Endpoint{Client: hi(), PromptCache: cache}
	client := serve(t, cached)
	messages := []llm.Message{user("a"), said("b")}
	for range 2 {
		_, err := client.Complete(t.Context(), ask(messages...))
		require.NoError(t, err)
		messages = append(messages, user("c"))
	}
	first, second := cache.Counts()[0], cache.Counts()[1]
	require.Positive(t, first.New)
	require.Equal(t, first.Written, second.Read)
}

func TestNoCacheSetsNoMarks(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Script(script()...)}
	cache := &standin.PromptCache{}
	endpoint.PromptCache = cache
	converse(t, serve(t, endpoint, func(o *anthropic.Options) { o.PromptCache = anthropic.NoCache }), ask())
	for i, r := range endpoint.Requests() {
		require.NotContains(t, string(r.Body), "cache_control")
		require.Zero(t, cache.Counts()[i].Read+cache.Counts()[i].Written)
	}
}

// The marks are never at thinking, which the API refuses.
func TestThinkingIsNotMarked(t *testing.T) {
	t.Parallel()
	message := llm.Message{Role: llm.Assistant, Content: "b", Opaque: llm.Opaque{Family: familyOfA, Data: `[{"type":"text","length":1},` + redacted + "]"}}
	p := answering(replyBody("end_turn", `{"type":"text","text":"Done."}`))
	_, err := serve(t, p).Complete(t.Context(), ask(user("a"), message, called(llmtest.ToolCall("1", "f", "{}")), result("1", "")))
	require.NoError(t, err)
	require.Equal(t, []string{
		`[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]`,
		`[{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"f","input":{}}]`,
		`[{"type":"tool_result","tool_use_id":"1","cache_control":{"type":"ephemeral"}}]`,
	}, messagesOf(t, p.bodies()[0]))
}

// A block that the API made is sent as it is, without a mark.
func TestBlocksOfTheAPIAreNotMarked(t *testing.T) {
	t.Parallel()
	message := llm.Message{Role: llm.Assistant, Content: "b", Opaque: llm.Opaque{Family: familyOfA, Data: `[{"type":"text","length":1},{"type":"new"}]`}}
	p := answering(replyBody("end_turn", `{"type":"text","text":"Done."}`))
	_, err := serve(t, p).Complete(t.Context(), ask(user("a"), message))
	require.NoError(t, err)
	require.Equal(t, `[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"new"}]`, messagesOf(t, p.bodies()[0])[1])
}

func hourCache(o *anthropic.Options) { o.PromptCache = anthropic.HourCache }

// Every mark of a request has the time of an hour: the API refuses a longer time after a shorter one.
func TestMarksOfAnHourAreAllTheSame(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Script(script()...)}
	cache := &standin.PromptCache{}
	endpoint.PromptCache = cache
	converse(t, serve(t, endpoint, hourCache), ask(llm.Message{Role: llm.System, Content: "Be brief."}, user("Go.")))
	for i, r := range endpoint.Requests() {
		marks := strings.Count(string(r.Body), `"cache_control":{"type":"ephemeral","ttl":"1h"}`)
		require.Equal(t, strings.Count(string(r.Body), "cache_control"), marks)
		require.Positive(t, marks)
		require.Zero(t, cache.Counts()[i].New)
	}
}

// An endpoint that knows no times gets marks without a time, and keeps its cache. This is learned once.
func TestAnEndpointWithoutTimesKeepsItsCache(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"cache_control.ttl: 1h is not supported", "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted"} {
		p := &picky{next: llmtest.Handler(hi()), refuse: rules(rule{`"ttl"`, says})}
		client := serve(t, p, hourCache)
		for range 2 {
			_, err := client.Complete(t.Context(), ask())
			require.NoError(t, err)
		}
		require.Len(t, p.bodies(), 3)
		require.Contains(t, string(p.bodies()[2]), `"cache_control":{"type":"ephemeral"}`)
	}
}

func TestAnUnknownTimeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := anthropic.New(anthropic.Options{Name: "m", PromptCache: "2h"})
	require.ErrorContains(t, err, "PromptCache is \"2h\"")
}

// Anthropic counts the tokens that are written for an hour among all written tokens. The client counts them once.
func TestTokensWrittenForAnHourAreWrittenTokens(t *testing.T) {
	t.Parallel()
	p := answering(`{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":2,"cache_read_input_tokens":30,"cache_creation_input_tokens":100,"output_tokens":1,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":100}}}`)
	reply, err := serve(t, p, hourCache).Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, llm.Usage{InputTokens: 132, CachedTokens: 30, CacheWriteTokens: 100, OutputTokens: 1}, reply.Usage)
}
