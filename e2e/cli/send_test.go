package cli_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A hundred programs send messages to one agent at the same time. Each message arrives once and gets an answer.
// Temporal accepts only ten updates and one waiting query of a workflow at a time, so it refuses most requests at
// first.
func TestHundredSendAtOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say("yes"), nil }, nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "hello")
	const senders = 100
	failures := make([]error, senders)
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() { failures[i] = sendAndWait(t.Context(), w.Client, t.Name(), fmt.Sprint("message ", i)) })
	}
	all.Wait()
	for i, err := range failures {
		require.NoError(t, err, "sender %d", i)
	}
	taken := map[string]int{}
	for _, m := range w.Show(t.Name()).Messages {
		if m.Role == llm.User {
			taken[m.Content]++
		}
	}
	require.Len(t, taken, senders+1)
	for text, n := range taken {
		require.Equal(t, 1, n, text)
	}
	w.NothingTwice()
}

func sendAndWait(ctx context.Context, c *reagent.Client, id, text string) error {
	before, err := c.Await(ctx, id, nil)
	if err != nil {
		return fmt.Errorf("await: %w", err)
	}
	sent, err := c.Send(ctx, id, reagent.Message{Text: text, Steer: before.Status != reagent.Waiting})
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	_, err = c.Reply(ctx, id, sent.MessageID, before.Count, nil)
	return err
}

// If a script sends a message again with the same --message-id, the agent does not take it again, and starter tells the
// script.
func TestMessageIsSentOnceByItsID(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("hello"), llmtest.Say("noted")), nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "hi")
	// Earlier versions gave the ID "first" to the first message of an agent. Now it is an ID like any other.
	require.Equal(t, "noted\n", w.Must("send", "--message-id", "first", t.Name(), "mail 815"))
	out, errs, code := w.Starter("send", "--message-id", "first", t.Name(), "mail 815")
	require.Equal(t, 0, code, errs)
	require.Empty(t, out)
	require.Contains(t, errs, "The agent already has message ID first")
	require.JSONEq(t, `{"type": "sent", "id": "`+t.Name()+`", "message_id": "first", "duplicate": true}`,
		w.Must("send", "--json", "--message-id", "first", t.Name(), "mail 815"))
	require.JSONEq(t, `{"type": "sent", "id": "`+t.Name()+`", "message_id": "first", "duplicate": true, "differs": true}`,
		w.Must("send", "--json", "--message-id", "first", t.Name(), "mail 816"))
	require.Equal(t, []string{"user: hi", "assistant: hello", "user: mail 815", "assistant: noted"}, w.Show(t.Name()).Lines())
	// The same holds for the message with which an agent was started. A program sends it again if the reply to the start was lost.
	id := t.Name() + "-started"
	_, err := w.Client.Start(t.Context(), reagent.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: "hi", MessageID: "m"})
	require.NoError(t, err)
	sent, err := w.Client.Send(t.Context(), id, reagent.Message{ID: "m", Text: "hi"})
	require.NoError(t, err)
	require.True(t, sent.Duplicate)
	_, errs, code = w.Starter("send", "--message-id", "late 1", t.Name(), "x")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "white space")
}

// The size limit of a message applies to the size with which Temporal stores it, where an angle bracket takes six
// bytes. A message that is too large is refused, and the agent goes on.
func TestMessageOfMarkupIsMeasuredAsItIsStored(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint(len(req.Messages[len(req.Messages)-1].Content), " bytes")), nil
	}, nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "hi")
	_, errs, code := w.StarterWith(strings.Repeat("<", 400_000), "send", t.Name(), "-")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "2400")
	require.Contains(t, errs, "the limit is 1500000")
	out, errs, code := w.StarterWith(strings.Repeat("<", 249_900), "send", t.Name(), "-")
	require.Equal(t, "249900 bytes\n", out, errs)
	require.Equal(t, 0, code)
	out, errs, code = w.StarterWith(strings.Repeat("a", 1<<20), "send", t.Name(), "-")
	require.Equal(t, "1048576 bytes\n", out, errs)
	require.Equal(t, 0, code)
	w.Show(t.Name())
}
