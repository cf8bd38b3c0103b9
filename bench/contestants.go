package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

// contestant is one of the two workflows that this program compares: the workflow of an agent, or [ByHand]. Both do the same
// work.
type contestant int

const (
	byHand contestant = iota
	reagent
)

// contestants has both contestants, in the order of their columns in the printed table.
var contestants = [...]contestant{byHand, reagent}

// start starts the workflow of a [contestant]. The workflow makes the given number of turns. In each turn, the workflow calls
// the model once and a tool once.
func (l *lab) start(ctx context.Context, who contestant, turns int) (client.WorkflowRun, error) {
	l.started++
	options := client.StartWorkflowOptions{ID: fmt.Sprintf("bench-%d", l.started), TaskQueue: queue}
	if who == byHand {
		return l.temporal.ExecuteWorkflow(ctx, options, ByHand, turns)
	}
	return l.temporal.ExecuteWorkflow(ctx, options, protocol.AgentWorkflow, task("x", options.ID, turns))
}

// task returns the workflow input for an agent that makes the given number of turns. `name` is the name of the agent's
// definition in [register]: "x" or "long". `incarnation` is a text that no earlier agent with the same ID has had.
func task(name, incarnation string, turns int) agent.Start {
	return agent.Start{Agent: name, Incarnation: incarnation, Message: &agent.QueuedMessage{ID: "first", Text: fmt.Sprint(turns, " turns")}}
}

const (
	// manyCalls is the limit of model calls for the agents of this program. No contestant makes so many calls. With the
	// default limit, a turn would end too early.
	manyCalls = 1_000_000
	// lastAnswer is the answer of a model after the last turn.
	lastAnswer = "done"
)

// finish waits for the end of a workflow that [lab.start] has started. finish returns an error if the workflow failed, or
// ended before its last turn.
func finish(ctx context.Context, run client.WorkflowRun) error {
	var result json.RawMessage // of an agent an object, of ByHand a string
	if err := run.Get(ctx, &result); err != nil {
		return err
	}
	if !strings.Contains(string(result), strconv.Quote(lastAnswer)) {
		return fmt.Errorf("%s ended before its last turn: %s", run.GetID(), result)
	}
	return nil
}

// answer is the text that each tool call of a [contestant] returns. It is 1 KiB long.
var answer = strings.Repeat("0123456789abcde\n", 64)

// readTool returns the tool "read" of the agents, which returns [answer].
func readTool() (tool.Tool, error) {
	return tool.Func("read", "", tool.ReadOnly, func(context.Context, struct {
		Page int `json:"page"`
	}) (string, error) {
		return answer, nil
	})
}

// register registers the agents and the workflows by hand with a worker. The options have what differs between workers, such as the
// converter.
func register(temporal client.Client, w worker.Worker, o activities.Options, driving workflows.Options) error {
	read, err := readTool()
	if err != nil {
		return err
	}
	big, err := tool.Func(bigTool, "", tool.ReadOnly, func(context.Context, struct {
		Page int `json:"page"`
	}) (string, error) {
		return strings.Repeat(answer, 1000), nil
	})
	if err != nil {
		return err
	}
	tools := new(tool.Registry)
	for _, t := range []tool.Tool{read, big} {
		if err := tools.Add(t); err != nil {
			return err
		}
	}
	o.Temporal, o.Tools, o.Log = temporal, tools, slog.New(slog.DiscardHandler)
	o.Models = map[string]activities.Model{}
	for name, plays := range map[string]clientFunc{
		"main": model, "counting": counting, "big": bigModel, "thinking": slowModel, "asking": asking, "tree2": treeModel("tree1"), "tree1": treeModel("tree0"),
		"answering": func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(lastAnswer), nil },
	} {
		o.Models[name] = activities.Model{Client: plays, Model: "m"}
	}
	o.Agents = []activities.Agent{
		{Name: "x", Model: "main", Tools: []string{"read"}, Limits: agent.Limits{ModelCalls: manyCalls}},
		{Name: "long", Model: "counting", Tools: []string{"read"}, Limits: agent.Limits{ModelCalls: manyCalls, ContextTokens: window}},
		{Name: "thinking", Model: "thinking"},
		{Name: "resumed", Model: "big", Tools: []string{bigTool, agent.ReadResult}, Limits: agent.Limits{ModelCalls: manyCalls, ToolResultBytes: 5000}},
		{Name: "asking", Model: "asking", Tools: []string{"read"}, Approval: activities.ApprovalPolicy{"read": activities.ApprovalAlways}},
		{Name: "idle", Model: "answering"},
		{Name: "tree2", Model: "tree2", Agents: []string{"tree1"}}, {Name: "tree1", Model: "tree1", Agents: []string{"tree0"}}, {Name: "tree0", Model: "answering"},
	}
	doing, err := activities.New(o)
	if err != nil {
		return err
	}
	doing.Register(w)
	workflows.New(driving).Register(w)
	w.RegisterWorkflow(ByHand)
	w.RegisterWorkflow(TreeByHand)
	w.RegisterActivity(Model)
	w.RegisterActivity(Tool)
	return nil
}

// clientFunc is an [llm.Client] that calls a Go function instead of a remote model. This program does not use the models of
// package llmtest, because they keep every request in memory.
type clientFunc func(context.Context, llm.Request) (llm.Reply, error)

func (f clientFunc) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	return f(ctx, req)
}

// model plays the language model "main": it returns the reply to one request. The first user message contains a number of
// turns. After each user message, model asks for this number of tool calls, one in each reply. Then it replies with the answer
// "done".
func model(_ context.Context, req llm.Request) (llm.Reply, error) {
	turns, page := 0, 0
	for _, m := range req.Messages {
		if m.Role == llm.User && turns == 0 {
			_, _ = fmt.Sscan(m.Content, &turns) // a summary has no number
		}
	}
	if n := len(req.Messages); n > 1 && len(req.Messages[n-2].ToolCalls) > 0 {
		if _, err := fmt.Sscanf(req.Messages[n-2].ToolCalls[0].Arguments, `{"page":%d}`, &page); err != nil {
			return llm.Reply{}, err
		}
		page++
	}
	if page == turns {
		return llmtest.Say(lastAnswer), nil
	}
	return llmtest.Call(llmtest.ToolCall("c", "read", fmt.Sprintf(`{"page":%d}`, page))), nil
}

// window is the value of `ContextTokens` for the agent "long": see [agent.Limits]. When a request and its reply together have
// this many tokens, the agent summarises its conversation.
const window = 32_000

// counting plays the language model "counting". A request that forbids tool calls asks for a summary of the conversation. To
// such a request, counting replies with a summary. To any other request, counting replies as [model] does. counting also adds
// an estimate of the request's tokens to the usage in the reply. From the usage, the agent sees that its conversation is too
// long.
func counting(ctx context.Context, req llm.Request) (llm.Reply, error) {
	reply, err := llmtest.Say("Pages were read."), error(nil)
	if req.Params.ToolChoice != "none" {
		reply, err = model(ctx, req)
	}
	for _, m := range req.Messages {
		reply.Usage.InputTokens += (len(m.Content) + 100) / 4
	}
	return reply, err
}

// ByHand is the workflow with which agents are compared. It makes the same turns as an agent, with as little code as
// possible. In each turn, ByHand runs the activity [Model] once and the activity [Tool] once. [Model] gets two numbers, not
// the messages of the conversation. ByHand has no idempotency keys, no updates and no queries.
func ByHand(ctx workflow.Context, turns int) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Minute})
	var transcript []string
	for i := range turns + 1 {
		var reply string
		if err := workflow.ExecuteActivity(ctx, Model, i, turns).Get(ctx, &reply); err != nil {
			return "", err
		}
		if transcript = append(transcript, reply); reply == lastAnswer {
			break
		}
		var result string
		if err := workflow.ExecuteActivity(ctx, Tool, reply).Get(ctx, &result); err != nil {
			return "", err
		}
		transcript = append(transcript, result)
	}
	return transcript[len(transcript)-1], nil
}

// Model is the activity of [ByHand] that stands for a language model. `asked` is the number of earlier calls of Model in the
// workflow. If `asked` equals `turns`, Model returns the answer "done". Before that, it returns the arguments of the next tool
// call.
func Model(_ context.Context, asked, turns int) (string, error) {
	if asked == turns {
		return lastAnswer, nil
	}
	return fmt.Sprintf(`{"page":%d}`, asked), nil
}

// Tool is the activity of [ByHand] that stands for a tool. It returns [answer]. The tool "read" of the agents returns the same
// text.
func Tool(context.Context, string) (string, error) { return answer, nil }
