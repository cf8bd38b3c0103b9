package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// What is measured has exactly the names, units, kinds and labels that [Metrics] says.
func TestMetricsAreAsDescribed(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	telemetry := New(Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	request := llm.Request{Candidates: []llm.Candidate{{Model: "m"}}}
	server := llm.Server{Provider: "p", Address: "a", Port: 1}
	_, call := telemetry.StartModelCall(t.Context(), Operation{}, server, request)
	call.Heard()
	call.Replied(llm.Reply{Usage: llm.Usage{InputTokens: 9, CachedTokens: 2, CacheWriteTokens: 1, OutputTokens: 5, ReasoningTokens: 2}}, agent.Dollar)
	_, call = telemetry.StartModelCall(t.Context(), Operation{}, server, request)
	call.Failed(context.Canceled, func(llm.Usage) agent.Money { return 0 })
	_, tool := telemetry.StartToolCall(t.Context(), Operation{}, "t", "", "")
	tool.Ended("", "tool_error")
	telemetry.EndTurn(Turn{Agent: "x", Error: "Interrupted", Limit: agent.LimitUse{Name: "tokens", Share: 0.5}})
	telemetry.Count("x", Interrupted, 1)
	telemetry.Waited("x", "approval", "t", time.Second)
	stop := telemetry.Census(func(context.Context) (Census, error) {
		return Census{Status: map[agent.Status]int64{agent.Held: 1}, Waiting: map[agent.WaitsFor]int64{agent.WaitsForRelease: 1}}, nil
	})

	want := map[string]Metric{}
	for _, m := range Metrics() {
		want[m.Name] = m
	}
	require.Len(t, want, len(Metrics()))
	var seen map[string]metricdata.Metrics
	require.Eventually(t, func() bool { seen = collect(t, reader); return len(seen) == len(want) }, 10*time.Second, time.Millisecond)
	for name, got := range seen {
		described := want[name]
		require.Equal(t, described.Unit, got.Unit, name)
		require.Equal(t, described.Description, got.Description, name)
		kind, labels := measured(t, got)
		require.Equal(t, described.Kind, kind, name)
		require.ElementsMatch(t, described.Labels, labels, name)
	}

	stop()
	require.NotContains(t, collect(t, reader), agentsByStatus.Name)
}

// However often the metrics are read, agents are counted once in half a minute. A reading does not wait for a count, which may need metrics
// itself. After an error, there are no numbers.
func TestAgentsAreCountedBesideTheReading(t *testing.T) {
	for _, problem := range []error{nil, errors.New("away")} {
		synctest.Test(t, func(t *testing.T) {
			reader, counts := sdkmetric.NewManualReader(), 0
			provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
			stop := New(Options{Meters: provider}).Census(func(context.Context) (Census, error) {
				counts++
				_, err := provider.Meter("sdk").Int64Counter("request")
				require.NoError(t, err)
				known := Census{Status: map[agent.Status]int64{agent.Held: int64(counts)}}
				if counts == 2 {
					return known, problem
				}
				return known, nil
			})
			read := func() any {
				data := collect(t, reader)[agentsByStatus.Name].Data
				synctest.Wait()
				return data
			}
			require.Zero(t, counts)
			require.Nil(t, read())
			require.NotNil(t, read())
			require.NotNil(t, read())
			require.Equal(t, 1, counts)
			time.Sleep(censusAge)
			require.NotNil(t, read())
			require.Equal(t, problem == nil, read() != nil)
			require.Equal(t, 2, counts)
			time.Sleep(censusAge)
			read()
			require.NotNil(t, read())
			stop()
			require.Nil(t, read())
			require.Equal(t, 3, counts)
		})
	}
}

func collect(t *testing.T, reader sdkmetric.Reader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	seen := map[string]metricdata.Metrics{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			seen[m.Name] = m
		}
	}
	return seen
}

// measured returns the kind of a metric and the labels of all its values.
func measured(t *testing.T, m metricdata.Metrics) (kind Kind, labels []string) {
	t.Helper()
	var sets []attribute.Set
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64]:
		kind, sets = Histogram, attributes(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Sum[int64]:
		require.True(t, data.IsMonotonic, m.Name)
		kind, sets = Counter, attributes(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Sum[float64]:
		require.True(t, data.IsMonotonic, m.Name)
		kind, sets = Counter, attributes(data.DataPoints, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[int64]:
		kind, sets = Gauge, attributes(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	default:
		require.Fail(t, "unknown kind", "%s is a %T", m.Name, data)
	}
	for _, set := range sets {
		for _, label := range set.ToSlice() {
			if !slices.Contains(labels, string(label.Key)) {
				labels = append(labels, string(label.Key))
			}
		}
	}
	return kind, labels
}

func attributes[P any](points []P, of func(P) attribute.Set) (all []attribute.Set) {
	for _, p := range points {
		all = append(all, of(p))
	}
	return all
}
