package calls_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A program that waits for the answer to its message is told when a person or a program has to act first, in the agent or in a sub-agent,
// whichever message the agent works on. After that, it gets the answer.
func TestReplyReturnsWhenSomebodyHasToAct(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		newest := req.Messages[len(req.Messages)-1]
		arguments := map[string]string{"clerk": `{"task":"pay"}`, "ask_user": `{"question":"Which?"}`}
		switch {
		case newest.Role == llm.Tool:
			return llmtest.Say("done"), nil
		case newest.Content == "both":
			return llmtest.Call(llmtest.ToolCall("1", "pay", "{}"), llmtest.ToolCall("2", "clerk", arguments["clerk"])), nil
		case newest.Content == "next":
			return llmtest.Say("next"), nil
		}
		name := newest.Content
		return llmtest.Call(llmtest.ToolCall("1", name, cmp.Or(arguments[name], "{}"))), nil
	}, tools, "    tools: [far.*, ask_user, deploy]\n    agents: [clerk]\n    approval: {far.pay: always}\n"+
		"  clerk:\n    model: main\n    description: pays\n    tools: [far.*]\n    approval: {default: always}\n"+
		"external:\n  deploy: {description: deploys}\n")
	w.Worker()
	for _, want := range []struct {
		message  string
		waitsFor []agent.WaitsFor
	}{
		{"pay", []agent.WaitsFor{client.WaitsForApproval}},
		{"ask_user", []agent.WaitsFor{client.WaitsForAnswer}},
		{"deploy", []agent.WaitsFor{client.WaitsForResult}},
		{"clerk", []agent.WaitsFor{client.WaitsForApproval}},
		{"both", []agent.WaitsFor{client.WaitsForApproval, client.WaitsForApproval}},
	} {
		t.Run(want.message, func(t *testing.T) {
			ctx, id := t.Context(), strings.ReplaceAll(t.Name(), "/", "-")
			started, err := w.Client.Start(ctx, client.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: want.message})
			require.NoError(t, err)
			var waits client.Snapshot
			w.Eventually("all calls wait", func() bool {
				waits, err = w.Client.Reply(ctx, id, started.MessageID, 0, nil)
				require.NoError(t, err)
				return len(waits.Waiting) == len(want.waitsFor)
			})
			for i, call := range waits.Waiting {
				require.Equal(t, want.waitsFor[i], call.Call.WaitsFor())
			}
			if !slices.Contains(want.waitsFor, client.WaitsForAnswer) { // a message would be the answer
				sent, err := w.Client.Send(ctx, id, client.Message{Text: "next"})
				require.NoError(t, err)
				waits, err = w.Client.Reply(ctx, id, sent.MessageID, 0, nil)
				require.NoError(t, err)
				require.NotEmpty(t, waits.Waiting, "the message waits behind the call")
			}
			for _, call := range waits.Waiting {
				d := agent.Decision{Approve: true}
				if call.Call.WaitsFor() != client.WaitsForApproval {
					d = agent.Decision{Result: &agent.GivenResult{Content: "this"}}
				}
				require.NoError(t, w.Client.Decide(ctx, call, d))
			}
			end, err := w.Client.Reply(ctx, id, started.MessageID, 0, nil)
			require.NoError(t, err)
			require.Equal(t, "done", end.Answer, "the answer to this message, though a later one may have its own")
			require.NotEmpty(t, end.Turn.Model)
		})
	}
	w.NothingTwice()
}
