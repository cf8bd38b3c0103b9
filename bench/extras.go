package main

import (
	"context"
	"fmt"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	library "github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// queueWithExtras is the task queue of the worker of [lab.extras].
const queueWithExtras = "bench-extras"

// extras measures what encryption, traces and metrics together add to the turn of an agent. It runs the same agent without them and with
// them, alternately.
func (l *lab) extras(ctx context.Context, turns, rounds int) error {
	progressf("encryption, traces and metrics, %d rounds", rounds)
	with, err := l.withExtras()
	if err != nil {
		return err
	}
	defer with.temporal.Close()
	defer with.worker.Stop()
	const plain, extra = 0, 1
	labs := [...]*lab{plain: l, extra: with}
	var took, workers [len(labs)][]float64
	for round := range rounds {
		for i := range labs {
			which := (i + round) % len(labs)
			in := labs[which]
			id := fmt.Sprint("extras-", which, "-", round)
			options := client.StartWorkflowOptions{ID: id, TaskQueue: []string{queue, queueWithExtras}[which]}
			before, worker := time.Now(), workerCPU()
			run, err := in.temporal.ExecuteWorkflow(ctx, options, protocol.AgentWorkflow, task("x", id, turns))
			if err == nil {
				err = finish(ctx, run)
			}
			if err != nil {
				return err
			}
			took[which] = append(took[which], time.Since(before).Seconds()*1000/float64(turns))
			workers[which] = append(workers[which], (workerCPU()-worker).Seconds()*1000/float64(turns))
		}
	}
	compare := func(what string, v [len(labs)][]float64) {
		without, all := median(v[plain]), median(v[extra])
		l.report.goal(what+" a turn without and with encryption, traces and metrics",
			fmt.Sprintf("%.2f, %.2f: %.3f×", without, all, all/without), all <= 1.05*without, "≤ 1.05×")
	}
	compare("ms", took)
	compare("worker CPU ms", workers)
	return nil
}

// withExtras returns a lab with the same server, and a worker of its own that encrypts payloads and makes spans and metrics. Nobody gets
// the spans.
func (l *lab) withExtras() (*lab, error) {
	codec, err := library.NewEncryptionCodec(library.EncryptionOptions{Keys: map[string][]byte{"k": make([]byte, 32)}, KeyID: "k"})
	if err != nil {
		return nil, err
	}
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	with := &lab{server: l.server}
	return with, with.serve(queueWithExtras, func(o *client.Options) { dial.Encode(o, data) },
		activities.Options{Converter: data, TracerProvider: tracers, MeterProvider: meters},
		workflows.Options{Telemetry: true, TracerProvider: tracers, MeterProvider: meters})
}
