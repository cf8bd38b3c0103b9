package children_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// withScout is the end of an agents.yaml. It gives the agent a sub-agent, scout, that works in the background.
const withScout = "    agents: [scout]\n    background: [scout]\n  scout:\n    model: main\n    description: looks\n    instructions: You look.\n"

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
	}, nil, withScout)
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
	}, tools, "    tools: [far.*]\n"+withScout)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	w.Transcript(id, 4)
	close(gate.Open)
	w.Transcript(id, 8)
	w.Must("send", "--detach", id, "pay")
	want := w.Transcript(id, 12)
	sameAtEveryTask(w, id, want)
	w.NothingTwice()
}

// After a reset, the agent asks the model nothing before it knows whether an earlier run got an answer of a sub-agent in the background.
func TestNothingBeginsBeforeLateResultsAreFound(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case req.Messages[0].Content == "You look.":
			return llmtest.Say("a red door"), gate.Pass(ctx)
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"look"}`)), nil
		}
		return llmtest.Say("so be it"), nil
	}, nil, "")
	recall := world.NewHold(protocol.FindCall)
	w.WorkerHere(worker.Options{Interceptors: []interceptor.WorkerInterceptor{recall}}, func(*agent.Definition) {},
		activities.Agent{Name: "x", Model: "main", Agents: []string{"scout"}, Background: []string{"scout"}, Limits: agent.Limits{Depth: 1}},
		activities.Agent{Name: "scout", Model: "main", Instructions: "You look."},
	)
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	w.Transcript(id, 4)
	run := w.RunID(id)
	before := w.TaskCount(id, run) // the sub-agent works, and the agent has answered
	close(gate.Open)
	w.Transcript(id, 6)
	w.Must("send", "--detach", id, "go on")
	want := w.Transcript(id, 8)
	w.Reset(id, run, before)
	recall.Wait(t)
	require.Equal(t, []string{protocol.FindCall}, begunSinceReset(w, id))
	close(recall.Open)
	require.Equal(t, want, w.Transcript(id, 8))
	w.NothingTwice()
}

// begunSinceReset returns the types of the activities that the newest run of an agent has scheduled. A reset has begun this run.
func begunSinceReset(w *world.World, id string) (types []string) {
	for event, err := range history.Events(w.T.Context(), w.Temporal, agent.RunRef{ID: id, RunID: w.RunID(id)}) {
		require.NoError(w.T, err)
		if event.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			types = nil
		}
		if a := event.GetActivityTaskScheduledEventAttributes(); a != nil {
			types = append(types, a.GetActivityType().GetName())
		}
	}
	return types
}

// requireAgents asserts that an agent and all sub-agents below it are the given number of agents.
func requireAgents(w *world.World, id string, count int) {
	tree, err := w.Client.Tree(w.T.Context(), id)
	require.NoError(w.T, err)
	require.Len(w.T, tree, count)
}

// said returns the texts of all messages of an agent, which may be working.
func said(w *world.World, id string) string {
	read, err := w.Client.ShowRecorded(w.T.Context(), id)
	require.NoError(w.T, err)
	var texts []string
	for _, m := range read.Messages {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}

// A sub-agent in the background answers while another call of the same reply is open. So the model is told the answer, and not that the
// sub-agent works. After a reset to any task, it is told the same.
func TestResetTellsTheAnswerOfASubAgentBesideACall(t *testing.T) {
	t.Parallel()
	pays := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) {
		if err := pays.Pass(ctx); err != nil {
			return "", err
		}
		return world.Echo(ctx, e)
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case req.Messages[0].Content == "You look.":
			return llmtest.Say("a red door"), nil
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"look"}`), llmtest.ToolCall("2", "pay", `{"n":1}`)), nil
		case last.Content == "pay":
			return llmtest.Call(llmtest.ToolCall("3", "pay", `{"n":2}`)), nil
		}
		return llmtest.Say("so be it"), nil
	}, tools, "    tools: [far.*]\n"+withScout)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	pays.Wait(t)
	w.Eventually("the sub-agent has answered", func() bool {
		s := w.Show(id)
		return len(s.Children) == 1 && s.Children[0].Status == "completed"
	})
	close(pays.Open)
	w.Transcript(id, 5)
	w.Must("send", "--detach", id, "pay")
	want := w.Transcript(id, 9)
	require.Contains(t, want[2], "a red door")
	sameAtEveryTask(w, id, want)
	w.NothingTwice()
}

// An agent lists its sub-agents in the background, sends one of them a message, and stops another. After a reset to any task, the model is told
// the same of these calls, although the sub-agents have ended since.
func TestResetTellsTheSameOfTheAgentsInTheBackground(t *testing.T) {
	t.Parallel()
	left, right := world.NewGate(), world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		scout := req.Messages[0].Content == "You look."
		switch last := req.Messages[len(req.Messages)-1]; {
		case scout && req.Messages[1].Content == "left":
			return llmtest.Say("a red door"), left.Pass(ctx)
		case scout && req.Messages[1].Content == "right":
			return llmtest.Say("a green door"), right.Pass(ctx)
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"left"}`), llmtest.ToolCall("2", "scout", `{"task":"left"}`)), nil
		case last.Content == "what runs?":
			return llmtest.Call(llmtest.ToolCall("3", "agents", `{}`)), nil
		case strings.Contains(last.Content, "scout: left"):
			handle, _, _ := strings.Cut(last.Content, " ")
			return llmtest.Call(llmtest.ToolCall("4", "agents", `{"to":"`+handle+`","message":"well?"}`), llmtest.ToolCall("5", "scout", `{"task":"right"}`)), nil
		case last.Content == "stop":
			_, handle, _ := strings.Cut(req.Messages[slices.IndexFunc(req.Messages, func(m llm.Message) bool { return m.ToolCallID == "5" })].Content, `handle "`)
			return llmtest.Call(llmtest.ToolCall("6", "agents", `{"stop":"`+handle[:8]+`"}`)), nil
		}
		return llmtest.Say("so be it"), nil
	}, nil, withScout)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	w.Transcript(id, 5)
	w.Must("send", "--detach", id, "what runs?")
	w.Transcript(id, 12)
	w.Must("send", "--detach", id, "stop")
	w.Transcript(id, 16)
	close(left.Open)
	w.Transcript(id, 18) // the answer of the other one
	w.Must("send", "--detach", id, "pay")
	want := w.Transcript(id, 20)
	sameAtEveryTask(w, id, want)
	requireAgents(w, id, 3)
	w.NothingTwice()
}

// A second sub-agent in the background is refused while the first one works, and started later. After a reset to any task, it is refused and
// started in the same places, although the first one has ended since.
func TestResetRefusesAndStartsTheSameSubAgents(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case req.Messages[0].Content == "You look.":
			return llmtest.Say("a red door"), gate.Pass(ctx)
		case last.Content == "look left":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"left"}`)), nil
		case last.Content == "look right":
			return llmtest.Call(llmtest.ToolCall("2", "scout", `{"task":"right"}`)), nil
		}
		return llmtest.Say("so be it"), nil
	}, nil, "    limits: {background: 1}\n"+withScout)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look left")
	w.Transcript(id, 4)
	w.Must("send", "--detach", id, "look right")
	require.Contains(t, w.Transcript(id, 8)[6], "at most 1 agents may work in the background")
	close(gate.Open)
	w.Transcript(id, 10)
	w.Must("send", "--detach", id, "look right")
	w.Transcript(id, 16)
	w.Must("send", "--detach", id, "pay")
	want := w.Transcript(id, 18)
	sameAtEveryTask(w, id, want)
	requireAgents(w, id, 3)
	w.NothingTwice()
}

// sameAtEveryTask resets the newest run of an agent to each of its tasks. It requires the same transcript each time. The last message of the
// user is "pay".
func sameAtEveryTask(w *world.World, id string, want []string) {
	w.T.Helper()
	run := w.RunID(id)
	for task := w.TaskCount(id, run); task >= 1; task-- {
		w.Reset(id, run, task)
		// On another path, the transcript may never have as many messages.
		var got []string
		w.Eventually("the last message is answered", func() bool {
			s := w.Show(id)
			got = s.Lines()
			return s.Status == "waiting" && slices.Contains(got, "user: pay")
		})
		require.Equal(w.T, want, got, "task %d", task)
	}
}
