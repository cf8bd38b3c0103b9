// Package bench_test measures what Reagent costs: against a minimal workflow written by
// hand, with two activities a turn, in the same run on the same server. Ratios hold
// better than absolute times.
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

const queue = "bench"

var temporal client.Client

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run()) // no server for nothing
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	server, err := devserver.Start(context.Background(), devserver.Options{Progress: os.Stderr})
	if err != nil {
		return fail(err)
	}
	defer server.Stop()
	options, err := config.ClientOptions(server.Address(), "")
	if err != nil {
		return fail(err)
	}
	if temporal, err = client.Dial(options); err != nil {
		return fail(err)
	}
	defer temporal.Close()
	w := worker.New(temporal, queue, worker.Options{StickyScheduleToStartTimeout: time.Second, MaxHeartbeatThrottleInterval: time.Second})
	if err := register(w); err != nil {
		return fail(err)
	}
	if err := w.Start(); err != nil {
		return fail(err)
	}
	defer w.Stop()
	return m.Run()
}

// answer is the result of every tool: 1 KiB.
var answer = strings.Repeat("0123456789abcde\n", 64)

func register(w worker.Worker) error {
	read, err := tool.Func("read", "", tool.ReadOnly, func(context.Context, struct {
		Page int `json:"page"`
	}) (string, error) {
		return answer, nil
	})
	if err != nil {
		return err
	}
	tools := new(tool.Registry)
	if err := tools.Add(read); err != nil {
		return err
	}
	doing, err := activities.New(activities.Options{
		Temporal: temporal, Tools: tools, Models: map[string]activities.Model{"main": {Client: clientFunc(model), Model: "m"}},
		Agents: []activities.Agent{{Name: "x", Model: "main", Tools: []string{"read"}}},
	})
	if err != nil {
		return err
	}
	doing.Register(w)
	workflows.New(workflows.Options{}).Register(w)
	w.RegisterWorkflow(ByHand)
	w.RegisterActivity(Model)
	w.RegisterActivity(Tool)
	return nil
}

// clientFunc is a model that costs nothing. Those of llmtest keep every request.
type clientFunc func(context.Context, llm.Request) (llm.Reply, error)

func (f clientFunc) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	return f(ctx, req)
}

// model asks for as many tool calls as the first message says.
func model(_ context.Context, req llm.Request) (llm.Reply, error) {
	var turns int
	if _, err := fmt.Sscan(req.Messages[0].Content, &turns); err != nil {
		return llm.Reply{}, err
	}
	n := (len(req.Messages) - 1) / 2
	if n == turns {
		return llmtest.Say("done"), nil
	}
	return llmtest.Call(llmtest.ToolCall("c", "read", fmt.Sprintf(`{"page":%d}`, n))), nil
}

// ByHand is the least that runs the same turns: a model and a tool activity each,
// with references as inputs. It has no keys, no updates and nothing to see.
func ByHand(ctx workflow.Context, turns int) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var transcript []string
	for i := range turns + 1 {
		var reply string
		if err := workflow.ExecuteActivity(ctx, Model, i, turns).Get(ctx, &reply); err != nil {
			return "", err
		}
		if transcript = append(transcript, reply); reply == "done" {
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

// Model is the model of ByHand.
func Model(_ context.Context, asked, turns int) (string, error) {
	if asked == turns {
		return "done", nil
	}
	return fmt.Sprintf(`{"page":%d}`, asked), nil
}

// Tool is the tool of ByHand.
func Tool(context.Context, string) (string, error) { return answer, nil }

// starter starts a run of so many turns.
type starter func(id string, turns int) (client.WorkflowRun, error)

func starters() map[string]starter {
	return map[string]starter{
		"by hand": func(id string, turns int) (client.WorkflowRun, error) {
			return temporal.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, ByHand, turns)
		},
		"reagent": func(id string, turns int) (client.WorkflowRun, error) {
			return temporal.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, workflows.Agent,
				workflows.Start{Agent: "x", Life: id, Message: &agent.Incoming{ID: "first", Text: fmt.Sprint(turns, " turns")}})
		},
	}
}

// BenchmarkTurn is one agent alone: time, events and bytes of history a turn.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{20, 50, 200} {
		for _, name := range []string{"by hand", "reagent"} {
			b.Run(fmt.Sprintf("%d turns/%s", turns, name), func(b *testing.B) {
				start := starters()[name]
				var last string
				n := 0
				for b.Loop() {
					n++
					last = fmt.Sprint(b.Name(), n, time.Now().UnixNano())
					wait(b, start, last, turns)
				}
				found, err := temporal.DescribeWorkflowExecution(context.Background(), strings.ReplaceAll(last, " ", "-"), "")
				require.NoError(b, err)
				info := found.GetWorkflowExecutionInfo()
				per := float64(turns)
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/per/float64(n), "ms/turn")
				b.ReportMetric(float64(info.GetHistoryLength())/per, "events/turn")
				b.ReportMetric(float64(info.GetHistorySizeBytes())/per, "bytes/turn")
			})
		}
	}
}

// BenchmarkAgents is 50 agents at once, of 10 turns each.
func BenchmarkAgents(b *testing.B) {
	const agents, turns = 50, 10
	for _, name := range []string{"by hand", "reagent"} {
		b.Run(name, func(b *testing.B) {
			start := starters()[name]
			n := 0
			for b.Loop() {
				n++
				var all sync.WaitGroup
				for i := range agents {
					all.Go(func() { wait(b, start, fmt.Sprint(b.Name(), n, i, time.Now().UnixNano()), turns) })
				}
				all.Wait()
			}
			b.ReportMetric(float64(n*agents*turns)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

func wait(b *testing.B, start starter, id string, turns int) {
	run, err := start(strings.ReplaceAll(id, " ", "-"), turns)
	if err == nil {
		err = run.Get(context.Background(), nil)
	}
	if err != nil {
		b.Error(err)
	}
}
