package examples_test

import (
	"context"
	"net/http"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/callback"
)

// The functions of this file are only compiled. The documentation shows parts of them: see [TestDocumentsShowCodeAsItIs].
var (
	_ = acceptResults
	_ = encrypt
	_ = observe
)

func acceptResults(temporal sdk.Client, mux *http.ServeMux, secret string) error {
	handler, err := callback.New(reagent.NewClient(temporal, ""), callback.Options{Secret: secret})
	if err != nil {
		return err
	}
	mux.Handle("/callbacks/{token}", handler)
	return nil
}

func encrypt(ctx context.Context, mux *http.ServeMux, oldKey, newKey []byte, options reagent.Options) (*reagent.Client, error) {
	codec, err := reagent.NewEncryptionCodec(reagent.EncryptionOptions{
		Keys: map[string][]byte{"2025": oldKey, "2026": newKey}, KeyID: "2026",
	})
	if err != nil {
		return nil, err
	}
	encoding := reagent.NewClientPlugin(codec)
	temporal, err := sdk.Dial(sdk.Options{Plugins: []sdk.Plugin{encoding}})
	if err != nil {
		return nil, err
	}
	agents, err := reagent.New(ctx, temporal, options)
	if err != nil {
		return nil, err
	}
	_ = worker.New(temporal, options.TaskQueue, worker.Options{Plugins: []worker.Plugin{agents}})
	mux.Handle("/codec/", http.StripPrefix("/codec", converter.NewPayloadCodecHTTPHandler(codec))) // for starter and the Web UI
	return encoding.Client(temporal, options.TaskQueue), nil                                       // starts and reads agents
}

func observe(spans sdktrace.SpanExporter, metrics sdkmetric.Reader, options reagent.Options) reagent.Options {
	options.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithIDGenerator(reagent.SpanIDs{}))
	options.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics))
	options.TraceContent = false // what people, models and tools say stays out of the spans
	return options
}
