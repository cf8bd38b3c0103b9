package children_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A sub-agent in the background outlives a crash of the worker and a continue-as-new of its parent. It gets the message of its parent
// once. Its result comes once, as a message that wakes the parent, which has answered long ago. A reset of the parent finds it again.
func TestSubAgentInTheBackground(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You look." {
			if err := gate.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			if req.Messages[len(req.Messages)-1].Content == "count them" {
				return llmtest.Say("two red doors"), nil
			}
			return llmtest.Say("a red door"), nil
		}
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"look"}`)), nil
		case strings.HasPrefix(last.Content, "started: "):
			return llmtest.Say("the scout looks"), nil
		case last.Content == "what runs?":
			return llmtest.Call(llmtest.ToolCall("1", "agents", `{}`)), nil
		case strings.Contains(last.Content, "scout: look"):
			handle, _, _ := strings.Cut(last.Content, " ")
			return llmtest.Call(llmtest.ToolCall("2", "agents", `{"to":"`+handle+`","message":"count them"}`)), nil
		case strings.HasPrefix(last.Content, "sent: "):
			return llmtest.Say("the scout counts"), nil
		case strings.Contains(last.Content, "has its result now:\n\ntwo red doors"):
			return llmtest.Say("there are two"), nil
		}
		return llmtest.Say("?"), nil
	}, nil, "    agents: [scout]\n    background: [scout]\n  scout:\n    model: main\n    description: looks\n    instructions: You look.\n")
	first := w.Worker()
	id := t.Name()
	require.Contains(t, w.Must("run", "--chat", "-a", "x", "--id", id, "look"), "the scout looks")
	gate.Wait(t)
	first.Kill()
	w.Worker()
	w.Roll(id)
	require.Contains(t, w.Must("send", id, "what runs?"), "the scout counts")
	close(gate.Open)
	w.Eventually("the result wakes the parent", func() bool {
		return strings.Contains(said(w, id), "there are two")
	})
	requireAgents(w, id, 2)
	w.Reset(id, "", 2)
	w.Eventually("the parent has the result again", func() bool {
		return strings.Contains(said(w, id), "there are two")
	})
	requireAgents(w, id, 2)
	require.Equal(t, 1, strings.Count(said(w, id), "has its result now"))
	tree, err := w.Client.Tree(t.Context(), id)
	require.NoError(t, err)
	for _, each := range tree {
		if each.ID != id {
			require.Equal(t, 1, strings.Count(said(w, each.ID), "count them"))
		}
	}
}

// After a reset to any task, an agent gets the result of a sub-agent in the background at the same place as before. So it takes the
// same path: it asks the model nothing anew, and does nothing twice.
func TestResetTakesTheSamePathPastASubAgentInTheBackground(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	gate := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You look." {
			return llmtest.Say("a red door"), gate.Pass(ctx)
		}
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"look"}`)), nil
		case strings.Contains(last.Content, "has its result now"):
			return llmtest.Call(llmtest.ToolCall("2", "pay", `{"n":1}`)), nil
		case last.Content == "pay":
			return llmtest.Call(llmtest.ToolCall("3", "pay", `{"n":2}`)), nil
		}
		return llmtest.Say("so be it"), nil
	}, tools, "    tools: [far.*]\n    agents: [scout]\n    background: [scout]\n  scout:\n    model: main\n    description: looks\n    instructions: You look.\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	w.Transcript(id, 4)
	close(gate.Open)
	w.Transcript(id, 8)
	w.Must("send", "--detach", id, "pay")
	want := w.Transcript(id, 12)
	run := w.RunID(id)
	for task := w.TaskCount(id, run); task >= 1; task-- {
		w.Reset(id, run, task)
		// The message is the last of its path. On another path, the transcript may never have as many messages.
		var got []string
		w.Eventually("the message is answered", func() bool {
			s := w.Show(id)
			got = s.Lines()
			return s.Status == "waiting" && slices.Contains(got, "user: pay")
		})
		require.Equal(t, want, got, "task %d", task)
	}
	w.NothingTwice()
}

// requireAgents asserts that an agent and all sub-agents below it are the given number of agents.
func requireAgents(w *world.World, id string, count int) {
	tree, err := w.Client.Tree(w.T.Context(), id)
	require.NoError(w.T, err)
	require.Len(w.T, tree, count)
}

// said returns the texts of all messages of an agent, which may be working.
func said(w *world.World, id string) string {
	read, err := w.Client.Read(w.T.Context(), id)
	require.NoError(w.T, err)
	var texts []string
	for _, m := range read.Messages {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}
