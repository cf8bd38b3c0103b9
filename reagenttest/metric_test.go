package reagenttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/reagenttest"
)

// A turn that a person interrupts is counted, and so is what it had used of its tightest limit.
func TestInterruptIsCounted(t *testing.T) {
	options, _ := traced()
	reader := sdkmetric.NewManualReader()
	options.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	options.Agents[0].Approval = reagent.ApprovalPolicy{"order": reagent.ApprovalAlways}
	options.Agents[0].Limits.ModelCalls = 4
	reagenttest.New(t, options).Chat("shop", "order").Settle().WantWaits("order").Interrupt().Settle()

	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	seen := map[string]metricdata.Aggregation{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			seen[m.Name] = m.Data
		}
	}
	events := seen["reagent.agent.events"].(metricdata.Sum[int64]).DataPoints
	counted := map[string]int64{}
	for _, p := range events {
		event, _ := p.Attributes.Value("reagent.event")
		counted[event.AsString()] = p.Value
	}
	require.EqualValues(t, 1, counted["interrupted"])
	turns := seen["gen_ai.invoke_agent.duration"].(metricdata.Histogram[float64]).DataPoints
	require.Len(t, turns, 1)
	failure, _ := turns[0].Attributes.Value("error.type")
	require.Equal(t, attribute.StringValue("Interrupted"), failure)
	used := seen["reagent.turn.limit_used"].(metricdata.Histogram[float64]).DataPoints
	require.Len(t, used, 1)
	limit, _ := used[0].Attributes.Value("reagent.limit")
	require.Equal(t, attribute.StringValue("model_calls"), limit)
	require.InDelta(t, 0.25, used[0].Sum, 1e-9)
}
