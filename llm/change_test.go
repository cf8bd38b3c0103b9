package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// A chat goes from Claude to DeepSeek and back, several times, within a turn and between turns, over a compaction and a reload. DeepSeek is
// asked through both of its APIs, and as a proxy's model whose name says nothing. Claude refuses nothing, so it gets no thinking that it has
// not signed. DeepSeek refuses at most the first request of each client that does not know it.
func TestAChatGoesFromClaudeToDeepSeekAndBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		route    []string // the places of the requests, again and again
		refusals int      // the number of requests that may be refused; one more on the chat API if there is no reasoning
	}{
		"Claude first":    {[]string{"Claude", "DeepSeek", "DeepSeek"}, 0},
		"DeepSeek first":  {[]string{"DeepSeek", "Claude", "Claude", "DeepSeek"}, 0},
		"both APIs":       {[]string{"Claude", "DeepSeek", "DeepSeek chat", "Claude", "DeepSeek chat", "DeepSeek"}, 0},
		"a proxy between": {[]string{"Claude", "proxy", "Claude", "DeepSeek", "proxy"}, 1},
	} {
		for _, reasoned := range []bool{true, false} { // whether the messages of requests have the reasoning
			t.Run(fmt.Sprintf("%s/reasoned=%v", name, reasoned), func(t *testing.T) {
				t.Parallel()
				c := newChange(t, reasoned)
				asked := 0
				for turn := range 8 {
					c.say(fmt.Sprintf("Task %d", turn))
					for calls := true; calls; asked++ {
						calls = c.ask(test.route[asked%len(test.route)])
						if asked == 9 {
							c.compact()
						}
					}
				}
				claude := c.endpoints["Claude"].Requests()
				refused := -asked
				for _, e := range c.endpoints {
					refused += len(e.Requests())
				}
				chats := slices.Contains(test.route, "DeepSeek chat")
				if chats && !reasoned {
					refused--
				}
				require.LessOrEqual(t, refused, test.refusals)
				require.Len(t, c.far.Requests(), asked, "each request was answered once")
				require.Greater(t, len(claude), 5)
				for _, r := range claude {
					require.NotContains(t, string(r.Body), "DeepSeek thinks")
					require.Equal(t, strings.Count(string(r.Body), `"type":"thinking"`), strings.Count(string(r.Body), `"signature":"sig/`))
				}
				if reasoned && test.refusals == 0 && !chats { // on the chat API, a last message of Claude should have a reasoning, too
					require.Empty(t, c.deepSeek.Violations())
				}
			})
		}
	}
}

// change is a chat that changes between models.
type change struct {
	t         *testing.T
	reasoned  bool
	far       *llmtest.Model
	deepSeek  *standin.Provider
	endpoints map[string]*standin.Endpoint
	clients   map[string]llm.Client
	req       llm.Request
}

// newChange starts an endpoint for Claude and three for DeepSeek. The model thinks only before the first call of a turn. Its thoughts name the
// model.
func newChange(t *testing.T, reasoned bool) *change {
	c := &change{t: t, reasoned: reasoned, deepSeek: standin.DeepSeek(), endpoints: map[string]*standin.Endpoint{}, clients: map[string]llm.Client{}}
	c.req = llm.Request{
		Tools:    []llm.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Messages: []llm.Message{{Role: llm.System, Content: "Be brief."}},
	}
	var calls atomic.Int32
	c.far = llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		n := len(req.Messages)
		results := 0
		for _, m := range slices.Backward(req.Messages) {
			if m.Role == llm.User {
				break
			}
			if m.Role == llm.Tool {
				results++
			}
		}
		if results == 3 {
			return llmtest.Say(fmt.Sprintf("Answer %d.", n)), nil
		}
		reply := llmtest.Call(llmtest.ToolCall(fmt.Sprintf("call_%d", calls.Add(1)), "look", "{}"))
		if results == 0 {
			reply.Message.Reasoning = map[bool]string{true: "Claude", false: "DeepSeek"}[req.Candidates[0].Model == "claude-opus-4-6"] + fmt.Sprintf(" thinks of %d.", n)
		}
		return reply, nil
	})
	for name, provider := range map[string]*standin.Provider{"Claude": nil, "DeepSeek": c.deepSeek, "DeepSeek chat": c.deepSeek, "proxy": c.deepSeek} {
		endpoint := &standin.Endpoint{Client: c.far, Provider: provider}
		server := httptest.NewServer(endpoint)
		t.Cleanup(server.Close)
		var err error
		if c.endpoints[name] = endpoint; name == "DeepSeek chat" {
			c.clients[name], err = openai.New(openai.Options{BaseURL: server.URL + "/v1"})
		} else {
			c.clients[name], err = anthropic.New(anthropic.Options{BaseURL: server.URL + "/anthropic"})
		}
		require.NoError(t, err)
	}
	return c
}

func (c *change) say(text string) {
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.User, Content: text})
}

// ask sends the chat to a place, and appends the reply and the result of its call. It reports whether the reply has a call. The chat is kept as
// JSON between the requests.
func (c *change) ask(place string) bool {
	c.t.Helper()
	model := map[string]string{"Claude": "claude-opus-4-6", "proxy": "best"}[place]
	if model == "" {
		model = "deepseek-v4-pro"
	}
	encoded, err := json.Marshal(c.req)
	require.NoError(c.t, err)
	var req llm.Request
	require.NoError(c.t, json.Unmarshal(encoded, &req))
	for i := range req.Messages {
		if !c.reasoned {
			req.Messages[i].Reasoning = ""
		}
	}
	req.Candidates = []llm.Candidate{{Name: place, Model: model}}
	reply, err := c.clients[place].Complete(c.t.Context(), req)
	require.NoError(c.t, err, place)
	c.req.Messages = append(c.req.Messages, reply.Message)
	for _, call := range reply.Message.ToolCalls {
		c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "Sunny."})
	}
	return len(reply.Message.ToolCalls) > 0
}

// compact replaces the beginning of the chat by a summary. The messages of the last two turns remain.
func (c *change) compact() {
	turns := 0
	for i, m := range slices.Backward(c.req.Messages) {
		if m.Role != llm.User {
			continue
		}
		if turns++; turns == 2 {
			kept := c.req.Messages[i:]
			c.req.Messages = append([]llm.Message{c.req.Messages[0], {Role: llm.User, Content: "Summary."}}, kept...)
			return
		}
	}
}
