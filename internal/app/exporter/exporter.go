// Package exporter sends the spans and metrics of a program where OpenTelemetry's environment variables say:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/reagent-dev/reagent/internal/telemetry"
	"github.com/reagent-dev/reagent/internal/version"
)

// contentEnv adds what people, models and tools say to the spans, if it is "true". Other instrumentations of generative AI have it, too.
const contentEnv = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// closeTimeout is the longest time for which [Exporter.Close] sends what is left.
const closeTimeout = 3 * time.Second

// Exporter makes the providers of a program. The zero Exporter sends nothing.
type Exporter struct {
	tracers *sdktrace.TracerProvider // nil for no spans
	meters  *sdkmetric.MeterProvider // nil for no metrics
}

// Options are the options of an [Exporter].
type Options struct {
	// Program is the value of the attribute service.name, unless OTEL_SERVICE_NAME is set.
	Program string
	// Metrics says that the program has metrics. A short command has none, and must not take the port at which a worker serves them.
	Metrics bool
}

// New returns the exporter of a program. Spans are sent if OTEL_TRACES_EXPORTER is set, or the endpoint of a collector
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT), and metrics likewise. OTEL_SDK_DISABLED=true turns both off. A variable
// with a value that is not known is an error.
func New(ctx context.Context, o Options) (*Exporter, error) {
	e := &Exporter{}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return e, nil
	}
	about, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", o.Program), attribute.String("service.version", version.String())), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if asked("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("export spans, as OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL say: %w", err)
		}
		if !autoexport.IsNoneSpanExporter(exporter) {
			e.tracers = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(telemetry.IDs{}))
		}
	}
	if o.Metrics && asked("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("export metrics, as OTEL_METRICS_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL say: %w", err), e.Close(ctx))
		}
		if !autoexport.IsNoneMetricReader(reader) {
			e.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(about), sdkmetric.WithView(latencies))
		}
	}
	return e, nil
}

// asked reports whether the environment asks for a signal. Without that, OpenTelemetry's default is a collector on this machine, and most
// machines have none.
func asked(signal string) bool {
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// latencies gives the histograms of Temporal's SDK boundaries in seconds. OpenTelemetry's default is for milliseconds.
func latencies(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Kind != sdkmetric.InstrumentKindHistogram || !strings.HasPrefix(i.Name, "temporal_") {
		return sdkmetric.Stream{}, false
	}
	return sdkmetric.Stream{
		Name: i.Name, Description: i.Description, Unit: i.Unit,
		Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}},
	}, true
}

// Log writes the errors of the export to a log. A collector that does not answer stops no agent.
func (e *Exporter) Log(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry could not be exported", "error", err) }))
}

// Tracers returns the provider of spans; nil for none.
func (e *Exporter) Tracers() trace.TracerProvider {
	if e.tracers == nil {
		return nil
	}
	return e.tracers
}

// Meters returns the provider of metrics; nil for none.
func (e *Exporter) Meters() metric.MeterProvider {
	if e.meters == nil {
		return nil
	}
	return e.meters
}

// Content reports whether spans have what people, models and tools say.
func (e *Exporter) Content() bool { return strings.EqualFold(os.Getenv(contentEnv), "true") }

// MetricsHandler returns the handler for the metrics of Temporal's SDK; nil for none.
func (e *Exporter) MetricsHandler() client.MetricsHandler {
	if e.meters == nil {
		return nil
	}
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: e.meters.Meter("go.temporal.io/sdk"), OnError: otel.Handle, UseMonotonicCounters: true,
	})
}

// Close sends what is left, for at most three seconds, and ends the export.
func (e *Exporter) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var problems []error
	if e.tracers != nil {
		problems = append(problems, e.tracers.Shutdown(ctx))
	}
	if e.meters != nil {
		problems = append(problems, e.meters.Shutdown(ctx))
	}
	return errors.Join(problems...)
}
