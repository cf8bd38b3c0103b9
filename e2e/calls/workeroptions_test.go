package calls_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// gauges is a metrics handler that keeps the largest value of each gauge of activity workers, by name and task queue.
type gauges struct {
	tags map[string]string
	kept *keptGauges
}

type keptGauges struct {
	mu   sync.Mutex
	most map[[2]string]float64
}

func (g gauges) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(g.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return gauges{all, g.kept}
}

func (g gauges) Counter(string) client.MetricsCounter { return client.MetricsNopHandler.Counter("") }
func (g gauges) Timer(string) client.MetricsTimer     { return client.MetricsNopHandler.Timer("") }

func (g gauges) Gauge(name string) client.MetricsGauge { return gauge{g, name} }

type gauge struct {
	gauges
	name string
}

func (g gauge) Update(value float64) {
	if g.tags["worker_type"] != "ActivityWorker" && g.tags["poller_type"] != "activity_task" {
		return
	}
	g.kept.mu.Lock()
	defer g.kept.mu.Unlock()
	key := [2]string{g.name, g.tags["task_queue"]}
	g.kept.most[key] = max(value, g.kept.most[key])
}

func (k *keptGauges) of(name, queue string) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.most[[2]string{name, queue}]
}

// slots is a supplier of slots that remembers the task queues that have asked for one.
type slots struct {
	worker.SlotSupplier

	mu   sync.Mutex
	seen map[string]bool
}

func (s *slots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	s.mu.Lock()
	s.seen[info.TaskQueue()] = true
	s.mu.Unlock()
	return s.SlotSupplier.ReserveSlot(ctx, info)
}

func (s *slots) queues() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// The slots, the pollers, the tuner and the metrics handler of the worker are those of each activity worker that the plugin starts. The calls
// of an agent take their slots there.
func TestActivityWorkersHaveSlotsPollersAndMetricsOfTheWorker(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("count", nil, func(context.Context, world.Effect) (string, error) { return "1", nil })
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), llmtest.Say("done")), tools, "")
	inner := []string{w.Queue + ".model.main", w.Queue + ".mcp.far"}
	start := func(o worker.Options) *keptGauges {
		kept := &keptGauges{most: map[[2]string]float64{}}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(kept.most)
			}
		})
		options, err := dial.ClientOptions(w.Address, "")
		require.NoError(t, err)
		options.MetricsHandler = gauges{kept: kept}
		temporal, err := client.Dial(options)
		require.NoError(t, err)
		t.Cleanup(temporal.Close)
		agents, err := reagent.New(t.Context(), temporal, reagent.Options{
			TaskQueue: w.Queue, Converter: options.DataConverter, MCPServers: []mcp.Server{{Name: "far", URL: tools.URL, Stateful: true}},
			Models: map[string]reagent.Model{"main": {Name: "scripted", BaseURL: w.Model.URL, RequestsPerMinute: 6000}},
			Agents: []reagent.Agent{{Name: "x", Tools: []string{"far.count"}}},
		})
		require.NoError(t, err)
		o.Plugins = []worker.Plugin{agents}
		here := worker.New(temporal, w.Queue, o)
		require.NoError(t, here.Start())
		t.Cleanup(here.Stop)
		return kept
	}
	pollers := func(kept *keptGauges, queue string, want float64) {
		w.Eventually("the pollers of "+queue, func() bool { return kept.of("temporal_num_pollers", queue) == want })
	}

	kept := start(worker.Options{MaxConcurrentActivityExecutionSize: 7, MaxConcurrentActivityTaskPollers: 3})
	for _, queue := range append(inner, w.Queue) {
		pollers(kept, queue, 3)
		w.Eventually("the slots of "+queue, func() bool { return kept.of("temporal_worker_task_slots_available", queue) == 7 })
	}

	fixed, err := worker.NewFixedSizeSlotSupplier(50)
	require.NoError(t, err)
	shared := &slots{SlotSupplier: fixed, seen: map[string]bool{}}
	others, err := worker.NewFixedSizeSlotSupplier(50)
	require.NoError(t, err)
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		WorkflowSlotSupplier: others, ActivitySlotSupplier: shared, LocalActivitySlotSupplier: others, NexusSlotSupplier: others, SessionActivitySlotSupplier: others,
	})
	require.NoError(t, err)
	kept = start(worker.Options{
		Tuner:                      tuner,
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: 4}),
	})
	for _, queue := range append(inner, w.Queue) {
		pollers(kept, queue, 4)
		require.True(t, shared.queues()[queue], queue)
	}
	require.Contains(t, w.Must("run", "--id", t.Name(), "go"), "done")
}
