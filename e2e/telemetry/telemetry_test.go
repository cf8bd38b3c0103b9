package telemetry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/traceparent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// With OpenTelemetry's environment variables, a worker exports spans and metrics, and starter the span of its command. All that a command
// causes lies in its trace, also after the worker was killed. The tokens of the metrics are those that starter shows.
func TestWorkerExportsWhatItDoes(t *testing.T) {
	collector, port := newReceiver(t), world.FreePort(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", fmt.Sprint(port))
	tools := world.NewToolServer(t)
	told := make(chan string, 10)
	tools.Add("order", nil, func(_ context.Context, e world.Effect) (string, error) {
		told <- e.Traceparent
		return "ordered", nil
	})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get(traceparent.Name) }))
	t.Cleanup(hook.Close)
	w := world.New(t, world.Script(
		llm.Reply{Message: llmtest.Call(llmtest.ToolCall("1", "order", `{"name":"plum"}`)).Message, Usage: llm.Usage{InputTokens: 100, OutputTokens: 10}},
		llm.Reply{Message: llmtest.Say("ordered").Message, Usage: llm.Usage{InputTokens: 200, OutputTokens: 20, CachedTokens: 50}},
	), tools, fmt.Sprintf("    tools: [far.order]\n    approval: {default: always}\nnotify:\n  pager: {url: %q}\n", hook.URL))
	first, id := w.Worker(), "an-id-that-no-label-has"
	_, stderr, code := w.Starter("run", "-a", "x", "--until-asked", "--id", id, "order a plum")
	require.Equal(t, 10, code, stderr)
	w.Eventually("the first worker has sent its span", func() bool { return collector.has("chat scripted") })
	first.Kill()
	w.Worker()
	w.Must("approve", id, "--all", "--yes")
	w.Finished(id, "ordered")

	w.Eventually("the spans of the second worker have come", func() bool {
		return collector.has("invoke_agent x", "execute_tool far.order", "chat scripted", "chat scripted")
	})
	all, twice := collector.spans()
	turn := ""
	for span, s := range all {
		if s.GetName() == "invoke_agent x" {
			turn = span
		}
	}
	require.Zero(t, twice)
	names := map[string]int{}
	for span, s := range all {
		names[s.GetName()]++
		require.Equal(t, all[turn].GetTraceId(), s.GetTraceId(), s.GetName())
		switch parent := hex.EncodeToString(s.GetParentSpanId()); {
		case s.GetName() == "starter run":
			require.Empty(t, parent)
		case span == turn:
			require.Equal(t, "starter run", all[parent].GetName())
		default:
			require.Equal(t, turn, parent, s.GetName())
		}
	}
	require.Equal(t, map[string]int{"starter run": 1, "invoke_agent x": 1, "chat scripted": 2, "execute_tool far.order": 1}, names)

	for range 3 { // the hook is told of the wait and of the end, and the tool server of the call
		require.Contains(t, <-told, hex.EncodeToString(all[turn].GetTraceId()))
	}

	metrics := scrape(t, port)
	require.InDelta(t, 200, sum(metrics["gen_ai_client_inference_tokens_total"], "gen_ai_token_type", "input"), 0)
	require.InDelta(t, 20, sum(metrics["gen_ai_client_inference_tokens_total"], "gen_ai_token_type", "output"), 0)
	require.InDelta(t, 50, sum(metrics["gen_ai_client_inference_input_tokens_by_cache_total"], "gen_ai_token_cache", "read"), 0)
	require.Equal(t, dto.MetricType_COUNTER, metrics["gen_ai_client_inference_tokens_total"].GetType())
	require.EqualValues(t, 1, metrics["reagent_wait_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount())
	require.Contains(t, metrics, "temporal_workflow_task_execution_latency_seconds", "the metrics of Temporal's SDK")
	require.Equal(t, dto.MetricType_COUNTER, metrics["temporal_request_total"].GetType())
	for name, family := range metrics {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				require.NotContains(t, label.GetValue(), id, "%s has the ID of an agent", name)
			}
		}
	}
}

// scrape reads the metrics of the worker, as Prometheus does.
func scrape(t *testing.T, port int) map[string]*dto.MetricFamily {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, fmt.Sprintf("http://localhost:%d/metrics", port), nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	require.NoError(t, err)
	return families
}

// sum adds the values of a counter or a gauge with a label.
func sum(family *dto.MetricFamily, name, value string) (total float64) {
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == name && strings.EqualFold(label.GetValue(), value) {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return total
}

// newPaid returns a world whose workers have the metrics of Prometheus at the port. The agent x calls a tool so many times at once, and then
// answers.
func newPaid(t *testing.T, calls int, agent ...string) (w *world.World, port int) {
	t.Helper()
	port = world.FreePort(t)
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", fmt.Sprint(port))
	tools := world.NewToolServer(t)
	tools.Add("order", nil, world.Echo)
	var orders []llm.ToolCall
	for i := range calls {
		orders = append(orders, llmtest.ToolCall(fmt.Sprint(i), "order", fmt.Sprintf(`{"name":"plum %d"}`, i)))
	}
	return world.New(t, world.Script(
		llm.Reply{Message: llmtest.Call(orders...).Message, Usage: llm.Usage{InputTokens: 100, OutputTokens: 10}},
		llm.Reply{Message: llmtest.Say("ordered").Message, Usage: llm.Usage{InputTokens: 200, OutputTokens: 20, CachedTokens: 50}},
	), tools, "    tools: [far.order]\n"+strings.Join(agent, "")), port
}

// A reply that a run recalls was paid for once, and is counted once. The totals of the metrics are those of starter show, and the numbers of
// agents those of Temporal's list.
func TestRecalledCallIsCountedOnce(t *testing.T) {
	w, port := newPaid(t, 1, "    approval: {default: always}\n    limits: {tokens: 660}\n")
	const id = "recalls"
	counted := func() (*workflowservice.CountWorkflowExecutionsResponse, error) {
		return w.Temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = %q AND ReagentStatus = 'waiting' AND ReagentWaitingFor = 'approval'", id),
		})
	}
	w.Must("setup")
	w.Eventually("the namespace has the attributes", func() bool { _, err := counted(); return err == nil })
	w.Worker()
	_, stderr, code := w.Starter("run", "-a", "x", "--until-asked", "--id", id, "order a plum")
	require.Equal(t, 10, code, stderr)
	w.Eventually("Temporal lists what the agent waits for", func() bool {
		found, err := counted()
		return err == nil && found.GetCount() == 1
	})
	var metrics map[string]*dto.MetricFamily
	w.Eventually("the agents are counted", func() bool {
		metrics = scrape(t, port)
		return metrics["reagent_agents_waiting"] != nil
	})
	require.GreaterOrEqual(t, sum(metrics["reagent_agents"], "reagent_status", "waiting"), 1.0)
	require.GreaterOrEqual(t, sum(metrics["reagent_agents_waiting"], "reagent_waits_for", "approval"), 1.0)

	w.Reset(id, "", 1)
	w.Eventually("the call waits again", func() bool { return len(w.Show(id).Pending) == 1 })
	w.Must("approve", id, "--all", "--yes")
	w.Finished(id, "ordered")
	w.NothingTwice()
	used := w.Show(id).Usage
	metrics = scrape(t, port)
	require.Equal(t, 1, used["recalled"])
	tokens := metrics["gen_ai_client_inference_tokens_total"]
	require.InDelta(t, used["input_tokens"], sum(tokens, "gen_ai_token_type", "input"), 0)
	require.InDelta(t, used["output_tokens"], sum(tokens, "gen_ai_token_type", "output"), 0)
	require.InDelta(t, used["cached_tokens"], sum(metrics["gen_ai_client_inference_input_tokens_by_cache_total"], "gen_ai_token_cache", "read"), 0)
	require.InDelta(t, used["recalled"], sum(metrics["reagent_agent_events_total"], "reagent_event", "recalled"), 0)
	limit := metrics["reagent_turn_limit_used"].GetMetric()[0]
	require.Equal(t, "tokens", limit.GetLabel()[slices.IndexFunc(limit.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "reagent_limit" })].GetValue())
	require.InDelta(t, 0.5, limit.GetHistogram().GetSampleSum(), 1e-9)
}
