package telemetry_test

import (
	"testing"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/reagent-dev/reagent/e2e/internal/collector"
)

// receiver is the collector of the tests of this folder.
type receiver struct{ *collector.Collector }

func newReceiver(t *testing.T) *receiver { return &receiver{collector.New(t)} }

func (r *receiver) spans() (all map[string]*spans.Span, twice int) { return r.Spans() }

func (r *receiver) has(names ...string) bool { return r.Has(names...) }
