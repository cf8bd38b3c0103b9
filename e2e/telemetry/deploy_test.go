package telemetry_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/telemetry"
)

// The dashboard and the alert rules of deploy/ name only metrics and labels that a worker exports, and Prometheus can parse them. Together
// they use each of Reagent's metrics.
func TestDashboardAndAlertsNameWhatAWorkerExports(t *testing.T) {
	w, port := newPaid(t, 5) // Temporal hands out at most three calls with the task that wants them: the others are polled, and have a latency
	w.Worker()
	w.Must("run", "-a", "x", "--id", "x", "order a plum")
	exported := labelsOf(t, scrape(t, port))
	used := parsed(t, queries(t), read(t, "deploy/prometheus/alerts.yaml"))
	unused := maps.Clone(exported)
	for name, labels := range used {
		base := name
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			if family, histogram := strings.CutSuffix(name, part); histogram && exported[family] != nil {
				base = family
			}
		}
		require.Contains(t, exported, base, "no worker exports %s", name)
		for _, label := range labels {
			require.Contains(t, exported[base], label, "%s has no such label", name)
		}
		delete(unused, base)
	}
	for name := range unused {
		require.False(t, isOurs(name), "no panel and no alert uses %s", name)
	}
}

// labelsOf returns the labels of each metric: those of the worker, and those of Reagent's metrics that it has not needed yet.
func labelsOf(t *testing.T, scraped map[string]*dto.MetricFamily) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	for _, m := range telemetry.Metrics() {
		labels := []string{}
		for _, label := range m.Labels {
			labels = append(labels, strings.ReplaceAll(label, ".", "_"))
		}
		if m.Kind == telemetry.Histogram {
			labels = append(labels, "le")
		}
		known[exportedName(t, m)] = labels
	}
	ours := 0
	for name, family := range scraped {
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if !strings.HasPrefix(label.GetName(), "otel_scope_") {
					labels[label.GetName()] = true
				}
			}
		}
		if family.GetType() == dto.MetricType_HISTOGRAM {
			labels["le"] = true
		}
		if !isOurs(name) {
			known[name] = slices.Collect(maps.Keys(labels))
			continue
		}
		ours++
		require.Contains(t, known, name)
		require.Subset(t, known[name], slices.Collect(maps.Keys(labels)), name)
	}
	require.Greater(t, ours, 5)
	return known
}

// isOurs reports whether a metric is not one of Temporal's SDK or of the exporter.
func isOurs(name string) bool {
	return strings.HasPrefix(name, "gen_ai_") || strings.HasPrefix(name, "reagent_")
}

// exportedName returns the name of a metric in Prometheus.
func exportedName(t *testing.T, m telemetry.Metric) string {
	t.Helper()
	kinds := map[telemetry.Kind]otlptranslator.MetricType{
		telemetry.Counter: otlptranslator.MetricTypeMonotonicCounter, telemetry.Histogram: otlptranslator.MetricTypeHistogram, telemetry.Gauge: otlptranslator.MetricTypeGauge,
	}
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	name, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kinds[m.Kind]})
	require.NoError(t, err)
	return name
}

var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

// queries returns all queries of the dashboard.
func queries(t *testing.T) (all []string) {
	t.Helper()
	type query struct{ Expr string }
	var board struct {
		Templating struct {
			List []struct {
				Type  string
				Query json.RawMessage
			}
		}
		Panels []struct {
			Title, Type string
			Targets     []query
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "deploy/grafana/reagent.json")), &board))
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			var q struct{ Query string }
			require.NoError(t, json.Unmarshal(v.Query, &q))
			m := labelValues.FindStringSubmatch(q.Query)
			require.NotNil(t, m, q.Query)
			all = append(all, "group by ("+m[2]+") ("+m[1]+")")
		}
	}
	for _, p := range board.Panels {
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, q := range p.Targets {
			all = append(all, strings.ReplaceAll(q.Expr, "$__rate_interval", "5m"))
		}
	}
	require.Greater(t, len(all), 15)
	return all
}

// parsed returns the labels that queries and rules name, by metric. The parsers are those of Prometheus.
func parsed(t *testing.T, queries []string, rules string) map[string][]string {
	t.Helper()
	in, err := json.Marshal(map[string]any{"queries": queries, "rules": rules})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", world.Path("internal/pins/promql"), "-mod=readonly", ".")
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var found struct {
		Metrics map[string][]string
		Alerts  []string
	}
	require.NoError(t, json.Unmarshal(out, &found))
	require.Greater(t, len(found.Alerts), 5)
	return found.Metrics
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(world.Path(path))
	require.NoError(t, err)
	return string(text)
}
