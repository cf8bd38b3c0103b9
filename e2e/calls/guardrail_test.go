package calls_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A worker is killed between the verdict on an answer and what follows from it. The guardrail is not asked again, and the answer leaves the
// agent only when a person has allowed it. The sender of a refused message is told the reason, and the model never gets the message.
func TestVerdictOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("judge", nil, func(_ context.Context, e world.Effect) (string, error) {
		switch {
		case strings.Contains(e.Arguments, "bad"):
			return `{"action":"refuse","reason":"mind your words"}`, nil
		case strings.Contains(e.Arguments, "odd"):
			return `{"action":"ask","reason":"what is that?"}`, nil
		}
		return `{"action":"allow"}`, nil
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		for _, m := range req.Messages {
			if strings.Contains(m.Content, "bad") {
				t.Errorf("the model gets %q", m.Content)
			}
		}
		return llmtest.Say("an odd answer"), nil
	}, tools, "    tools: []\n    guardrails: {messages: [far.judge], answers: [far.judge]}\n")
	ctx, id, worker := t.Context(), t.Name(), w.Worker()
	started, err := w.Client.Start(ctx, client.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: "hello"})
	require.NoError(t, err)
	asked, err := w.Client.Reply(ctx, id, started.MessageID, 0, nil)
	require.NoError(t, err)
	require.Empty(t, asked.Answer)
	require.Len(t, asked.Waiting, 1)
	require.Equal(t, "far.judge", asked.Waiting[0].Call.Name)
	require.Contains(t, asked.Waiting[0].Call.Arguments, "an odd answer")
	judged := tools.Effects()
	worker.Kill()
	w.Worker()
	for code, flag := range map[int]string{4: "--all", 2: "--for-agent"} {
		_, stderr, got := w.Starter("approve", id, "--yes", flag)
		require.Equal(t, code, got, stderr)
		require.Contains(t, stderr, flag)
		require.Contains(t, stderr, "starter approve "+id+" "+asked.Waiting[0].Handle())
	}
	w.Must("approve", id, asked.Waiting[0].Handle())
	answer, err := w.Client.AwaitReply(ctx, id, started.MessageID, 0, nil)
	require.NoError(t, err)
	require.Equal(t, "an odd answer", answer.Answer)

	sent, err := w.Client.Send(ctx, id, client.Message{Text: "a bad word"})
	require.NoError(t, err)
	refused, err := w.Client.Reply(ctx, id, sent.MessageID, 0, nil)
	require.NoError(t, err)
	require.Equal(t, "The message was refused by the guardrail far.judge: mind your words", refused.Answer)
	require.Equal(t, agent.TextMessage, refused.Refusal.Kind)
	require.Regexp(t, `refused  message at \S+ \S+: far\.judge: refuse, mind your words`, w.Must("show", id))
	require.Equal(t, []string{"user: hello", "assistant: an odd answer"}, w.Transcript(id, 2))
	require.Len(t, tools.Effects(), 3)
	stdout, stderr, code := w.StarterWith("another bad word\n", "chat", id)
	require.Equal(t, 9, code, stderr)
	require.Contains(t, stdout, "The message was refused by the guardrail far.judge: mind your words")
	stdout, stderr, code = w.Starter("send", "--json", id, "a third bad word")
	require.Equal(t, 9, code, stderr)
	require.Contains(t, stdout, `"refusal":{"subject":"message","message_id":`)
	require.Contains(t, stderr, `"exit_code":9`)

	sent, err = w.Client.Send(ctx, id, client.Message{Text: "hello again"})
	require.NoError(t, err)
	asked, err = w.Client.Reply(ctx, id, sent.MessageID, 0, nil)
	require.NoError(t, err)
	require.Nil(t, asked.Refusal)
	w.Must("deny", id, asked.Waiting[0].Handle(), "--reason", "too odd")
	refused, err = w.Client.AwaitReply(ctx, id, sent.MessageID, 0, nil)
	require.NoError(t, err)
	require.Equal(t, agent.TextAnswer, refused.Refusal.Kind)
	require.Equal(t, "too odd", refused.Refusal.Reason)
	for key, times := range judged {
		require.Equal(t, times, tools.Effects()[key], "%s is judged again", key)
	}
	w.NothingTwice()
}
