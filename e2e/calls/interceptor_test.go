package calls_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// counter is an interceptor that counts the activities by their types.
type counter struct {
	interceptor.WorkerInterceptorBase

	mu    sync.Mutex
	calls map[string]int
}

func (c *counter) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &counting{counter: c}
	i.Next = next
	return i
}

func (c *counter) count(activityType string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[activityType]
}

type counting struct {
	interceptor.ActivityInboundInterceptorBase
	*counter
}

func (c *counting) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	c.mu.Lock()
	c.calls[activity.GetInfo(ctx).ActivityType.Name]++
	c.mu.Unlock()
	return c.Next.ExecuteActivity(ctx, in)
}

// places is an interceptor that remembers on which task queues it has seen which types of activities.
type places struct {
	interceptor.WorkerInterceptorBase

	mu   sync.Mutex
	seen map[string]string
}

func (p *places) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &placing{places: p}
	i.Next = next
	return i
}

func (p *places) queues() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.seen)
}

type placing struct {
	interceptor.ActivityInboundInterceptorBase
	*places
}

func (p *placing) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	p.mu.Lock()
	p.seen[info.TaskQueue] = info.ActivityType.Name
	p.mu.Unlock()
	return p.Next.ExecuteActivity(ctx, in)
}

// The interceptors and the identity of the worker are those of each activity worker that the plugin starts: of models and of stateful MCP
// servers.
func TestActivityWorkersAreLikeTheWorker(t *testing.T) {
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("count", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "1", g.Pass(ctx) })
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), llmtest.Say("done")), tools, "")
	agents, err := reagent.New(t.Context(), w.Temporal, reagent.Options{
		TaskQueue: w.Queue, MCPServers: []mcp.Server{{Name: "far", URL: tools.URL, Stateful: true}},
		Models: map[string]reagent.Model{
			"main":  {Name: "scripted", BaseURL: w.Model.URL, RequestsPerMinute: 6000},
			"other": {Name: "scripted", BaseURL: w.Model.URL},
		},
		Agents: []reagent.Agent{{Name: "x", Model: "main", Tools: []string{"far.count"}}},
	})
	require.NoError(t, err)
	own := &places{seen: map[string]string{}}
	here := worker.New(w.Temporal, w.Queue, worker.Options{
		Identity: "mine", Interceptors: []interceptor.WorkerInterceptor{own}, Plugins: []worker.Plugin{agents},
	})
	require.NoError(t, here.Start())
	t.Cleanup(here.Stop)
	w.Must("run", "--detach", "--id", t.Name(), "go")
	g.Wait(t)
	close(g.Open)
	w.Finished(t.Name(), "done")
	seen := own.queues()
	require.Equal(t, protocol.CallModel, seen[w.Queue+".model.main"])
	require.Equal(t, protocol.CallTool, seen[w.Queue+".mcp.far"])
	for _, queue := range []string{w.Queue, w.Queue + ".model.main", w.Queue + ".model.other", w.Queue + ".mcp.far"} {
		w.Eventually("a worker asks for work of "+queue, func() bool {
			found, err := w.Temporal.DescribeTaskQueue(t.Context(), queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
			require.NoError(t, err)
			for _, p := range found.GetPollers() {
				require.Equal(t, "mine", p.GetIdentity(), queue)
			}
			return len(found.GetPollers()) > 0
		})
	}
}

// clientBase has another name than worker.PluginBase, so that a struct can embed both.
type clientBase = client.PluginBase

// adding is a plugin of a client. It adds an interceptor to each worker of the client.
type adding struct {
	clientBase
	worker.PluginBase

	counter *counter
}

func (adding) Name() string { return "adding" }

func (a adding) ConfigureWorker(_ context.Context, c worker.PluginConfigureWorkerOptions) error {
	c.WorkerOptions.Interceptors = append(c.WorkerOptions.Interceptors, a.counter)
	return nil
}

// Interceptors of a worker see each call once, also the calls of a model with a limit on requests. An activity worker makes
// these, on a task queue of its own. The interceptors of a worker come from its options or from a plugin of its client.
func TestInterceptorsSeeCallsOfALimitedModelOnce(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "ping", `{}`)), llmtest.Say("done")), nil, "")
	own, added := &counter{calls: map[string]int{}}, &counter{calls: map[string]int{}}
	options, err := dial.ClientOptions(w.Address, "")
	require.NoError(t, err)
	options.Plugins = []client.Plugin{adding{counter: added}}
	temporal, err := client.Dial(options)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	ping := reagent.Func("ping", "answers", reagent.ReadOnly, func(context.Context, struct{}) (string, error) { return "pong", nil })
	agents, err := reagent.New(t.Context(), temporal, reagent.Options{
		TaskQueue: w.Queue, Converter: options.DataConverter, Tools: []reagent.Tool{ping},
		Models: map[string]reagent.Model{"main": {Name: "scripted", BaseURL: w.Model.URL, RequestsPerMinute: 6000}},
		Agents: []reagent.Agent{{Name: "x", Tools: []string{"ping"}}},
	})
	require.NoError(t, err)
	here := worker.New(temporal, w.Queue, worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{own}, Plugins: []worker.Plugin{agents},
	})
	require.NoError(t, here.Start())
	t.Cleanup(here.Stop)
	require.Contains(t, w.Must("run", "--id", t.Name(), "go"), "done")
	for name, c := range map[string]*counter{"the worker's": own, "the client plugin's": added} {
		require.Equal(t, 2, c.count(protocol.CallModel), name)
		require.Equal(t, 1, c.count(protocol.CallTool), name)
	}
}
