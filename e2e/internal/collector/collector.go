// Package collector has a collector of telemetry for tests: it takes spans and metrics by OTLP over HTTP.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricsin "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracein "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps what comes. Its URL is the value of OTEL_EXPORTER_OTLP_ENDPOINT. Its methods are safe for concurrent use.
type Collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*trace.Span
	// sums has the newest value of each series of a counter. A process that starts has series of its own, with another time of start.
	sums map[string]sum
}

type sum struct {
	name  string
	of    []*common.KeyValue
	value float64
}

// New starts a collector and stops it at the end of the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{sums: map[string]sum{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) serve(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var spans tracein.ExportTraceServiceRequest
	var sums metricsin.ExportMetricsServiceRequest
	if err == nil && req.URL.Path == "/v1/traces" {
		err = proto.Unmarshal(data, &spans)
	}
	if err == nil && req.URL.Path == "/v1/metrics" {
		err = proto.Unmarshal(data, &sums)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range spans.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	for _, resource := range sums.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				c.add(m)
			}
		}
	}
}

func (c *Collector) add(m *metrics.Metric) {
	for _, p := range m.GetSum().GetDataPoints() {
		series := fmt.Sprint(m.GetName(), p.GetStartTimeUnixNano(), p.GetAttributes())
		c.sums[series] = sum{m.GetName(), p.GetAttributes(), p.GetAsDouble() + float64(p.GetAsInt())}
	}
}

// Spans returns the spans that have come, by their IDs. A span that comes twice is counted in the second result.
func (c *Collector) Spans() (all map[string]*trace.Span, twice int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = map[string]*trace.Span{}
	for _, s := range c.spans {
		id := hex.EncodeToString(s.GetSpanId())
		if all[id] != nil {
			twice++
		}
		all[id] = s
	}
	return all, twice
}

// Has reports whether spans with all these names have come. A name that is given twice needs two spans.
func (c *Collector) Has(names ...string) bool {
	all, _ := c.Spans()
	come := map[string]int{}
	for _, s := range all {
		come[s.GetName()]++
	}
	for _, name := range names {
		come[name]--
		if come[name] < 0 {
			return false
		}
	}
	return true
}

// Counted returns what all processes together have last told of a counter, with this value of a label.
func (c *Collector) Counted(name, label, value string) (total float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sums {
		if s.name == name && Text(s.of, label) == value {
			total += s.value
		}
	}
	return total
}

// Text returns the text of an attribute; "" if there is none.
func Text(attributes []*common.KeyValue, name string) string {
	for _, a := range attributes {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Int returns the number of an attribute; 0 if there is none.
func Int(attributes []*common.KeyValue, name string) int {
	for _, a := range attributes {
		if a.GetKey() == name {
			return int(a.GetValue().GetIntValue())
		}
	}
	return 0
}
