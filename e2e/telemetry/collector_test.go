package telemetry_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector: it takes spans by OTLP over HTTP.
type receiver struct {
	*httptest.Server

	mu  sync.Mutex
	all []*spans.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
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
	var in collector.ExportTraceServiceRequest
	if err == nil && req.URL.Path == "/v1/traces" {
		err = proto.Unmarshal(data, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range in.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			r.all = append(r.all, scope.GetSpans()...)
		}
	}
}

// spans returns the spans that have come, by their IDs. A span that comes twice is counted in the second result.
func (r *receiver) spans() (all map[string]*spans.Span, twice int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = map[string]*spans.Span{}
	for _, s := range r.all {
		id := hex.EncodeToString(s.GetSpanId())
		if all[id] != nil {
			twice++
		}
		all[id] = s
	}
	return all, twice
}

// has reports whether spans with all these names have come. A name that is given twice needs two spans.
func (r *receiver) has(names ...string) bool {
	all, _ := r.spans()
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
