package calls_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// allEndpointFaults makes [TestAgentsFinishAtAnEndpointThatFails] run a hundred agents in place of 15. It is
// set by `make endpoint-faults`.
var allEndpointFaults = os.Getenv("REAGENT_ENDPOINT_FAULTS") == "all"

// clerical is the configuration of the agent x, which has a sub-agent named clerk.
const clerical = `    instructions: x
    tools: [far.*]
    agents: [clerk]
  clerk: {model: main, instructions: clerk, tools: [far.read]}
`

// busy is the scripted model of the agent x and its sub-agent clerk. The number in the task of x selects one of three
// plans of tool calls. The answer of each agent contains the result of its last call.
func busy(_ context.Context, req llm.Request) (llm.Reply, error) {
	name, task := req.Messages[0].Content, req.Messages[1].Content
	var n int
	if _, err := fmt.Sscanf(task, "task %d", &n); err != nil {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "an odd task: " + task}
	}
	call := func(id, tool string, step int) llm.ToolCall {
		return llmtest.ToolCall(id, tool, fmt.Sprintf(`{"n":%d,"step":%d}`, n, step))
	}
	clerk := llmtest.ToolCall("c", "clerk", fmt.Sprintf(`{"task":"task %d"}`, n))
	plans := [][][]llm.ToolCall{
		{{call("a", "read", 1), call("b", "pay", 1), call("c", "pay", 1)}, {call("a", "read", 2)}, {call("a", "pay", 3)}},
		{{call("a", "pay", 1)}, {call("a", "read", 2)}, {call("a", "pay", 3)}, {call("a", "pay", 3)}},
		{{clerk, call("a", "read", 1)}, {call("a", "pay", 2)}},
	}
	plan := plans[n%len(plans)]
	if name == "clerk" {
		plan = [][]llm.ToolCall{{call("a", "read", 9)}}
	}
	if step := world.Asked(req); step < len(plan) {
		reply := llmtest.Call(plan[step]...)
		reply.Message.Content = fmt.Sprintf("Step %d of %s’s work – a little text beside the calls.", step, name)
		return reply, nil
	}
	return llmtest.Say(name + " is done: " + req.Messages[len(req.Messages)-1].Content), nil
}

// Agents finish although about three of ten answers of the endpoint are faulty. Their transcripts and tool calls are
// the same as without faults, and each tool call runs once. No request gets more than two faults in a row (see
// [standin.Faults]), so no agent is held.
func TestAgentsFinishAtAnEndpointThatFails(t *testing.T) {
	t.Parallel()
	agents := 15
	if allEndpointFaults {
		agents = 100
	}
	run := func(name string, faults *standin.Faults) (transcripts []string, effects, requests int) {
		t.Run(name, func(t *testing.T) {
			tools := world.NewToolServer(t)
			tools.Add("read", world.ReadOnly, world.Echo)
			tools.Add("pay", nil, world.Echo)
			w := world.New(t, busy, tools, clerical, func(e *standin.Endpoint) { e.Seed, e.Faults = 5, faults })
			w.Worker()
			transcripts = make([]string, agents)
			var group errgroup.Group
			group.SetLimit(25)
			for n := range agents {
				group.Go(func() (err error) {
					transcripts[n], err = works(w, fmt.Sprint(t.Name(), n), n)
					return err
				})
			}
			require.NoError(t, group.Wait())
			for key, count := range tools.Effects() {
				require.Equal(t, 1, count, "effect %s", key)
			}
			effects, requests = len(tools.Effects()), len(w.Model.Requests())
		})
		return transcripts, effects, requests
	}
	want, wantEffects, _ := run("undisturbed", nil)
	faults := &standin.Faults{Seed: 4, Share: 0.3}
	got, effects, requests := run("disturbed", faults)
	require.Equal(t, want, got)
	require.Equal(t, wantEffects, effects)
	total := 0
	for _, n := range faults.Counts() {
		total += n
	}
	t.Logf("%d agents finished; %d of %d answers went wrong: %v", agents, total, requests, faults.Counts())
	require.Greater(t, total*4, requests, "fewer faults than were meant")
	require.Len(t, faults.Counts(), 9, "a kind of fault did not happen: take another seed")
}

// works runs an agent to its end, and returns its transcript and those of its sub-agents. The parameter n is the number
// in the agent's task. If works is called again with the same id and n, the agent's requests have the same keys and get
// the same faults.
func works(w *world.World, id string, n int) (string, error) {
	ctx := w.T.Context()
	in := agent.Start{
		Agent: "x", Incarnation: uuid.NewSHA1(uuid.NameSpaceOID, []byte(id)).String(),
		Message: &agent.QueuedMessage{ID: "first", Text: fmt.Sprint("task ", n)},
	}
	if _, err := w.Temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{ID: id, TaskQueue: w.Queue, Memo: workflows.Memo(in)}, protocol.AgentWorkflow, in); err != nil {
		return "", err
	}
	for p, err := range w.Client.Watch(ctx, id, 0) {
		if err != nil {
			return "", err
		}
		if p.Status.Ended() {
			break
		}
	}
	return story(ctx, w, id)
}

// story returns the transcript of an agent and those of its sub-agents. It returns an error if one of them has not
// completed.
func story(ctx context.Context, w *world.World, id string) (string, error) {
	snap, err := w.Client.ShowRecorded(ctx, id)
	if err != nil {
		return "", err
	}
	if snap.Status != reagent.Completed {
		return "", fmt.Errorf("agent %s is %s: %s", id, snap.Status, snap.Failure)
	}
	var lines []string
	for _, m := range snap.Messages {
		lines = append(lines, fmt.Sprint(m.Role, ": ", m.Content, m.ToolCalls, m.ToolCallID))
	}
	for _, child := range snap.Children {
		below, err := story(ctx, w, child.ID)
		if err != nil {
			return "", err
		}
		lines = append(lines, child.Agent+":", below)
	}
	return strings.Join(lines, "\n"), nil
}
