package calls_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The law of SendOrStart: the message of each key enters the transcript exactly once and begins one turn, however many callers send it at
// the same time, whose answers get lost, while the agent is started, ends and is resumed.
func TestMessageOfSendOrStartIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say("heard " + req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
	w.Worker()
	ctx, id := t.Context(), t.Name()
	options := client.StartOptions{Agent: "x"}
	const keys, callers = 12, 3
	var starts, received atomic.Int64
	var all sync.WaitGroup
	for key := range keys {
		for caller := range callers {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(key), uint64(caller)))
				for {
					patience := time.Minute
					if random.IntN(2) == 0 {
						patience = time.Duration(1+random.IntN(200)) * time.Millisecond // the answer may get lost
					}
					limited, cancel := context.WithTimeout(ctx, patience)
					sent, err := w.Client.SendOrStart(limited, id, messageOf(key), options)
					cancel()
					if sent.Started {
						starts.Add(1)
					}
					if err == nil {
						break
					}
					if ctx.Err() != nil {
						return
					}
				}
				switch received.Add(1) % 4 {
				case 1:
					_ = w.Temporal.CancelWorkflow(ctx, id, "")
				case 3:
					_ = w.Temporal.TerminateWorkflow(ctx, id, "", "test")
				}
			})
		}
	}
	all.Wait()
	require.LessOrEqual(t, starts.Load(), int64(1))
	for key := range keys {
		sent, err := w.Client.SendOrStart(ctx, id, messageOf(key), options)
		require.NoError(t, err)
		require.True(t, sent.Duplicate && !sent.Differs, "key %d", key)
		end, err := w.Client.Reply(ctx, id, sent.MessageID, 0, nil)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("heard message ", key), end.Answer, "status %s", end.Status)
	}
	counts := map[string]int{}
	for _, line := range w.Show(id).Lines() {
		counts[line]++
	}
	require.Len(t, counts, 2*keys, "one message and one answer for each key: %v", counts)
	for line, n := range counts {
		require.Equal(t, 1, n, line)
	}
	snap, err := w.Client.ShowRecorded(ctx, id)
	require.NoError(t, err)
	for _, m := range snap.Messages {
		if m.Role == llm.User {
			require.Equal(t, agent.Metadata{"key": string(m.Key)}, m.Metadata, "however the message came, it has its metadata")
		}
	}
	w.NothingTwice()
	require.Greater(t, w.Runs(id), 1, "the agent was resumed")
	_ = w.Temporal.TerminateWorkflow(ctx, id, "", "test")
	sent, err := w.Client.SendOrStart(ctx, id, client.Message{ID: "key-0", Text: "again"}, options)
	require.NoError(t, err)
	require.True(t, sent.Differs)
	require.True(t, sent.Duplicate && !sent.Resumed, "nothing wakes the agent for a message that it has answered")
}

func messageOf(key int) client.Message {
	id := fmt.Sprint("key-", key)
	return client.Message{ID: id, Text: fmt.Sprint("message ", key), Metadata: agent.Metadata{"key": id}}
}

// An agent that was terminated in the middle of a message's turn goes on when the sender repeats the message.
func TestRepeatedMessageGetsItsAnswer(t *testing.T) {
	t.Parallel()
	asked, terminated := make(chan struct{}, 2), make(chan struct{})
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		asked <- struct{}{}
		<-terminated
		return llmtest.Say("heard"), nil
	}, nil, "")
	w.Worker()
	ctx, id := t.Context(), t.Name()
	message := client.Message{ID: "mail-1", Text: "hello"}
	say := func() client.Sent {
		sent, err := w.Client.SendOrStart(ctx, id, message, client.StartOptions{Agent: "x"})
		require.NoError(t, err)
		return sent
	}
	require.True(t, say().Started)
	<-asked
	w.TerminateAgent(id)
	close(terminated)
	again := say()
	require.True(t, again.Duplicate && again.Resumed)
	end, err := w.Client.Reply(ctx, id, "mail-1", 0, nil)
	require.NoError(t, err)
	require.Equal(t, "heard", end.Answer)
	w.TerminateAgent(id)
	again = say()
	require.True(t, again.Duplicate && !again.Resumed, "the message has its answer")
	require.Equal(t, []string{"user: hello", "assistant: heard"}, w.Show(id).Lines())
}

// A message for an agent that ended while it asked a question becomes the answer. A chat that somebody has closed stays closed.
func TestSendOrStartAnswersAndLeavesWhatIsClosed(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		newest := req.Messages[len(req.Messages)-1]
		if newest.Content == "paint" {
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Which colour?"}`)), nil
		}
		return llmtest.Say("it is " + newest.Content), nil
	}, tools, "    tools: [ask_user]\n")
	w.Worker()
	ctx, id := t.Context(), t.Name()
	say := func(key, text string) (client.Sent, error) {
		return w.Client.SendOrStart(ctx, id, client.Message{ID: key, Text: text}, client.StartOptions{Agent: "x"})
	}
	first, err := say("1", "paint")
	require.NoError(t, err)
	require.True(t, first.Started)
	asks, err := w.Client.Reply(ctx, id, "1", 0, nil)
	require.NoError(t, err)
	require.Len(t, asks.Waiting, 1)
	question, ok := asks.Waiting[0].Call.Question()
	require.True(t, ok)
	require.Equal(t, "Which colour?", question.Question)
	w.TerminateAgent(id)
	for _, again := range []bool{false, true} {
		answered, err := say("2", "red")
		require.NoError(t, err)
		require.Equal(t, again, answered.Duplicate)
		end, err := w.Client.Reply(ctx, id, "2", 0, nil)
		require.NoError(t, err)
		require.Equal(t, "it is red", end.Answer)
	}
	_, err = say("3", "next")
	require.NoError(t, err)
	for key, answer := range map[string]string{"1": "it is red", "2": "it is red", "3": "it is next"} {
		end, err := w.Client.Reply(ctx, id, key, 0, nil)
		require.NoError(t, err)
		require.Equal(t, answer, end.Answer)
	}
	require.NoError(t, w.Client.Close(ctx, id))
	w.Ends(id, "completed")
	known, err := say("3", "next")
	require.NoError(t, err)
	require.True(t, known.Duplicate)
	_, err = say("4", "more")
	require.ErrorIs(t, err, client.ErrClosed)
	require.Equal(t, 1, strings.Count(strings.Join(w.Show(id).Lines(), "\n"), "tool: red"))
	w.NothingTwice()
}
