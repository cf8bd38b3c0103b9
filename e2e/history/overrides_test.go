package history_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The overrides of a message hold for its turn and no longer, also after a termination in the middle of the turn, a continue-as-new and a
// reset, and in a fork and a rerun. Each model call is made once.
func TestOverridesOfAMessageHoldForItsTurn(t *testing.T) {
	t.Parallel()
	blocked, terminated := make(chan struct{}, 10), make(chan struct{})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		newest := req.Messages[len(req.Messages)-1].Content
		if newest == "crash" {
			blocked <- struct{}{}
			<-terminated
		}
		return llmtest.Say(fmt.Sprintf("%s: %q, %d tools", newest, req.Messages[0].Content, len(req.Tools))), nil
	}, nil, "    instructions: Be kind.\n    tools: [calculator, current_time]\n")
	w.Worker()
	ctx, id := t.Context(), t.Name()
	brief := agent.Overrides{Instructions: "Be brief.", Tools: []string{"calculator"}}
	say := func(text string, o agent.Overrides) client.Sent {
		sent, err := w.Client.SendOrStart(ctx, id, client.Message{ID: text, Text: text, Overrides: o}, client.StartOptions{Agent: "x"})
		require.NoError(t, err)
		return sent
	}
	hear := func(text string) client.Snapshot {
		end, err := w.Client.Reply(ctx, id, text, 0, nil)
		require.NoError(t, err)
		return end
	}
	const own, overridden = `%s: "Be kind.", 2 tools`, `%s: "Be kind.\n\nBe brief.", 1 tools`
	answers := func(text, how string) { require.Equal(t, fmt.Sprintf(how, text), hear(text).Answer) }

	digests := map[string]bool{}
	digest := func() {
		asked, err := w.Client.Describe(ctx, id)
		require.NoError(t, err)
		read, err := w.Client.ShowRecorded(ctx, id)
		require.NoError(t, err)
		digests[asked.Digest], digests[read.Digest] = true, true
	}
	say("first", brief)
	answers("first", overridden)
	digest()
	say("plain", agent.Overrides{})
	answers("plain", own)
	digest()
	require.Len(t, digests, 1, "the digest is that of the agent's own definition")
	run := w.RunID(id)

	say("crash", brief)
	<-blocked
	w.TerminateAgent(id)
	close(terminated)
	require.True(t, say("crash", brief).Resumed)
	answers("crash", overridden)
	w.Roll(id)
	say("after", agent.Overrides{})
	answers("after", own)

	say("forbidden", agent.Overrides{Tools: []string{"http_get"}})
	refused := hear("forbidden")
	require.Equal(t, client.Held, refused.Status)
	require.Contains(t, refused.Failure, `no tool or sub-agent "http_get"`)
	require.Equal(t, fmt.Sprintf(own, "then"), w.Must("send", id, "then")[:len(fmt.Sprintf(own, "then"))])
	require.Contains(t, w.Must("send", id, "--only-tool", "current_time", "flags"), `flags: "Be kind.", 1 tools`)
	before := w.Show(id).Lines()

	requests := len(w.Model.Requests())
	w.Reset(id, run, 2)
	w.Eventually("the agent is where it was", func() bool {
		s := w.Show(id)
		return s.Status == "waiting" && slices.Equal(s.Lines(), before)
	})
	require.Len(t, w.Model.Requests(), requests, "all replies are recalled")

	fork, err := w.Client.Fork(ctx, id, client.ForkOptions{At: 5, ID: id + "-fork"}) // behind the message "crash"
	require.NoError(t, err)
	w.Eventually("the fork answers", func() bool { return w.Show(fork.ID).Status == "waiting" })
	require.Equal(t, "assistant: "+fmt.Sprintf(overridden, "crash"), w.Show(fork.ID).Lines()[5])
	rerun, err := w.Client.Rerun(ctx, id, client.RerunOptions{ID: id + "-rerun"})
	require.NoError(t, err)
	require.Equal(t, 7, rerun.Messages)
	w.Eventually("the rerun answers all but the forbidden message", func() bool {
		s := w.Show(rerun.ID)
		return s.Status == "waiting" && slices.Equal(s.Lines(), before)
	})
}
