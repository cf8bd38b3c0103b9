package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// sent returns the body that the endpoint gets for a request. The endpoint refuses what Anthropic refuses.
func sent(t *testing.T, req llm.Request, edit ...func(*anthropic.Options)) map[string]json.RawMessage {
	t.Helper()
	endpoint := &standin.Endpoint{Client: hi()}
	client := serve(t, endpoint, append([]func(*anthropic.Options){noCache}, edit...)...)

	_, err := client.Complete(t.Context(), req)
	require.NoError(t, err)

	require.Len(t, endpoint.Requests(), 1)
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(endpoint.Requests()[0].Body, &body))
	return body
}

func noCache(o *anthropic.Options) { o.PromptCache = anthropic.NoCache }

// hi returns a model that always says "Hi."
func hi() *llmtest.Model {
	replies := make([]llm.Reply, 100)
	for i := range replies {
		replies[i] = llmtest.Say("Hi.")
	}
	return llmtest.Script(replies...)
}

func user(text string) llm.Message { return llm.Message{Role: llm.User, Content: text} }

func said(text string) llm.Message { return llm.Message{Role: llm.Assistant, Content: text} }

func called(calls ...llm.ToolCall) llm.Message {
	return llm.Message{Role: llm.Assistant, ToolCalls: calls}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.Tool, ToolCallID: id, Content: text}
}

func TestTurnsAlternate(t *testing.T) {
	t.Parallel()
	image := llm.Part{Type: "image", URL: "data:image/png;base64,AAAA"}
	for name, test := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"users in a row": {
			[]llm.Message{user("a"), user("b")},
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`,
		},
		"assistants in a row": {
			[]llm.Message{user("a"), said("b"), called(llmtest.ToolCall("1", "f", "{}")), result("1", "x")},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},
			{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]}]}]`,
		},
		"results before text and images": {
			[]llm.Message{
				user("a"), called(llmtest.ToolCall("1", "f", "{}"), llmtest.ToolCall("2", "f", `{"b":1}`)), result("2", "y"), result("1", "x"),
				{Role: llm.User, Content: "look", Parts: []llm.Part{image}},
			},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{"b":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"y"}]},
			{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]},
			{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]`,
		},
		"a result after a text": {
			[]llm.Message{user("a"), called(llmtest.ToolCall("1", "f", "{}")), user("b"), result("1", "x")},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]},{"type":"text","text":"b"}]}]`,
		},
		"the assistant begins": {
			[]llm.Message{said("a"), user("b")},
			`[{"role":"user","content":[{"type":"text","text":"(start of the transcript)"}]},
			{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b"}]}]`,
		},
		"the assistant ends": {
			[]llm.Message{user("a"), said("b \n")},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b \n"}]},
			{"role":"user","content":[{"type":"text","text":"Continue."}]}]`,
		},
		"an empty user": {
			[]llm.Message{user("a"), said("b"), user(" \n")},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]},
			{"role":"user","content":[{"type":"text","text":"(empty message)"}]}]`,
		},
		"an empty assistant": {
			[]llm.Message{user("a"), said("\t"), user("b")},
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`,
		},
		"empty texts beside others": {
			[]llm.Message{
				{Role: llm.User, Content: " ", Parts: []llm.Part{{Type: "text", Text: ""}, {Type: "image", URL: "https://example.com/a.png"}}},
				{Role: llm.Assistant, Content: "\n", ToolCalls: []llm.ToolCall{llmtest.ToolCall("1", "f", " ")}}, result("1", ""),
			},
			`[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`,
		},
		"nothing": {nil, `[{"role":"user","content":[{"type":"text","text":"Continue."}]}]`},
		"an image as a result": {
			[]llm.Message{user("a"), called(llmtest.ToolCall("1", "f", "{}")), {Role: llm.Tool, ToolCallID: "1", Content: "see", Parts: []llm.Part{image}}},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"see"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := ask()
			req.Messages = test.messages
			require.JSONEq(t, test.want, string(sent(t, req)["messages"]))
		})
	}
}

func TestTheSystemPromptIsNoMessage(t *testing.T) {
	t.Parallel()
	body := sent(t, ask(llm.Message{Role: llm.System, Content: "Be <brief>."}, user("a")))
	require.Equal(t, `[{"type":"text","text":"Be <brief>."}]`, string(body["system"]))
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"a"}]}]`, string(body["messages"]))
	require.NotContains(t, sent(t, ask(llm.Message{Role: llm.System, Content: " "}, user("a"))), "system")
}

func TestDataURLsAreSentAsData(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"data:image/gif;base64,R0lGODlhAQABAAAAACw=": `{"type":"base64","media_type":"image/gif","data":"R0lGODlhAQABAAAAACw="}`,
		"data:image/jpeg;charset=x;base64,AAAA":      `{"type":"base64","media_type":"image/jpeg","data":"AAAA"}`,
		"data:image/png,%89PNG":                      `{"type":"base64","media_type":"image/png","data":"iVBORw=="}`,
		"https://example.com/a?b=c":                  `{"type":"url","url":"https://example.com/a?b=c"}`,
	} {
		body := sent(t, ask(llm.Message{Role: llm.User, Parts: []llm.Part{{Type: "image", URL: url}}}))
		require.JSONEq(t, `[{"role":"user","content":[{"type":"image","source":`+want+`}]}]`, string(body["messages"]))
	}
}

func TestMessagesThatCannotBeSentAreRefused(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: hi()}
	client := serve(t, endpoint)
	for says, message := range map[string]llm.Message{
		"the arguments of f are not a JSON object":            called(llmtest.ToolCall("1", "f", `{"a`)),
		`a part of a message has the unknown type "audio"`:    {Role: llm.User, Parts: []llm.Part{{Type: "audio"}}},
		"the data: URL of an image has no comma":              {Role: llm.User, Parts: []llm.Part{{Type: "image", URL: "data:image/png"}}},
		`the role "robot" is unknown`:                         {Role: "robot", Content: "x"},
		"the data: URL of an image is not valid":              {Role: llm.User, Parts: []llm.Part{{Type: "image", URL: "data:image/png,%x"}}},
		"message 1: the arguments of g are not a JSON object": called(llmtest.ToolCall("1", "g", `[]`)),
	} {
		_, err := client.Complete(t.Context(), ask(user("a"), message))
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.ErrorContains(t, err, says)
	}
	require.Empty(t, endpoint.Requests())
}

// The arguments are sent as they are, except for white space.
func TestArgumentsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	arguments := `{"z":9007199254740993,"a":1.0,"z":1e400,"h":"<\u00fc>&"}`
	body := sent(t, ask(user("a"), called(llmtest.ToolCall("1", "f", arguments)), result("1", "x")))
	require.Contains(t, string(body["messages"]), `"input":`+arguments)
}

// callIDsOf returns the IDs of the calls and of the results in the messages of a body.
func callIDsOf(t *testing.T, messages json.RawMessage) (calls, results []string) {
	t.Helper()
	var turns []struct {
		Content []struct {
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
		} `json:"content"`
	}
	require.NoError(t, json.Unmarshal(messages, &turns))
	for _, turn := range turns {
		for _, b := range turn.Content {
			if b.ID != "" {
				calls = append(calls, b.ID)
			}
			if b.ToolUseID != "" {
				results = append(results, b.ToolUseID)
			}
		}
	}
	return calls, results
}

// IDs that the API does not accept are replaced, for a call and its result alike. A longer conversation begins with the same IDs.
func TestCallIDsAreValidAndUnique(t *testing.T) {
	t.Parallel()
	ids := []string{"toolu_01", "functions.f:0", "é", strings.Repeat("x", 65), "toolu_01", "functions.f:0", "toolu_01_2", "toolu_01"}
	req := ask(user("a"))
	before := []string{}
	for _, id := range ids {
		req.Messages = append(req.Messages, called(llmtest.ToolCall(id, "f", "{}")), result(id, "x"))
		calls, results := callIDsOf(t, sent(t, req)["messages"])
		require.Equal(t, calls, results)
		require.Equal(t, before, calls[:len(before)])
		seen := map[string]bool{}
		for _, call := range calls {
			require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, call)
			require.False(t, seen[call])
			seen[call] = true
		}
		before = calls
	}
	require.Equal(t, "toolu_01", before[0])
	require.Equal(t, "toolu_01_2", before[4])
	require.Equal(t, before[1]+"_2", before[5])
}
