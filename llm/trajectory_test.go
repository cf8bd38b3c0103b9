package llm_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/testkit/trajectory"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// Each request of the recorded conversations arrives as it was made, and each reply as it was given, through all three APIs. Without
// `make trajectories`, these are the conversations of a selection.
func TestRecordedConversationsPassThroughEveryAPI(t *testing.T) {
	t.Parallel()
	all, err := trajectory.Load("../testdata/trajectories")
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(c trajectory.Conversation) bool { _, obstacle := c.Turns(); return obstacle != "" })
	if os.Getenv("REAGENT_TRAJECTORIES") != "all" {
		all = trajectory.Representative(all)
	}
	for name, test := range map[string]struct {
		api     standin.API
		connect func(url string) (llm.Client, error)
	}{
		"chat": {standin.Chat, func(url string) (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ChatAPI})
		}},
		"responses": {standin.Responses, func(url string) (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ResponsesAPI})
		}},
		"messages": {standin.Messages, func(url string) (llm.Client, error) { return anthropic.New(anthropic.Options{BaseURL: url}) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reply llm.Reply
			var got llm.Request
			far := llmtest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
				got = req
				return reply, nil
			})
			server := httptest.NewServer(&standin.Endpoint{Client: far, Seed: 1})
			t.Cleanup(server.Close)
			client, err := test.connect(server.URL)
			require.NoError(t, err)
			replies := 0
			for _, c := range all {
				messages, _ := c.Turns()
				for n, m := range messages {
					if m.Role != llm.Assistant {
						continue
					}
					req := llm.Request{Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Tools: c.Tools, Messages: slices.Clone(messages[:n])}
					if c.System != "" {
						req.Messages = append([]llm.Message{{Role: llm.System, Content: c.System}}, req.Messages...)
					}
					for i, sent := range req.Messages {
						if sent.Role == llm.Tool && sent.Content == "" {
							req.Messages[i].Content = "(no output)" // as the core sends it
						}
					}
					reply = llm.Reply{Message: m}
					answer, err := client.Complete(t.Context(), req)
					require.NoError(t, err, "%s, message %d", c.ID, n)
					want := test.api.Sent(req)
					require.Equal(t, renumbered(want.Messages), renumbered(got.Messages), "%s, message %d", c.ID, n)
					require.Equal(t, test.api.Received(reply).Message, answer.Message, "%s, message %d", c.ID, n)
					replies++
				}
			}
			require.Greater(t, replies, len(all))
			t.Logf("%d replies", replies)
		})
	}
}

// renumbered returns messages whose calls have numbers as IDs, because an API may not accept the IDs of another provider. The ID of a
// result is the number of the last call with its ID.
func renumbered(messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	last, n := map[string]string{}, 0
	for i := range messages {
		m := &messages[i]
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			n++
			last[m.ToolCalls[j].ID] = fmt.Sprint(n)
			m.ToolCalls[j].ID = fmt.Sprint(n)
		}
		if m.ToolCallID != "" {
			m.ToolCallID = last[m.ToolCallID]
		}
	}
	return messages
}
