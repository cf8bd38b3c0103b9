package config

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

const (
	// codecTimeout bounds one question to a codec server.
	codecTimeout = 10 * time.Second
	// codecPause is the first time between two questions of a worker whose codec server does not
	// answer, maxCodecPause the longest.
	codecPause    = 100 * time.Millisecond
	maxCodecPause = 5 * time.Second
)

// remote is a codec server, asked as envconfig and the Temporal CLI ask it. Unlike theirs it is not waited
// for without end, and is told the namespace also where a flag names it.
func remote(c envconfig.ClientConfigCodec, namespace string) converter.PayloadCodec {
	return converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: strings.TrimSuffix(c.Endpoint, "/"),
		Client:   http.Client{Timeout: codecTimeout},
		ModifyRequest: func(r *http.Request) error {
			r.Header.Set("X-Namespace", namespace)
			if c.Auth != "" {
				r.Header.Set("Authorization", c.Auth)
			}
			return nil
		},
	})
}

// steadfast is the data converter of a worker whose codec is another process. That one's failures are
// nobody's decision: in a workflow they fail the task, which Temporal gives out again, and elsewhere
// the codec is asked again.
func steadfast(codec converter.PayloadCodec) converter.DataConverter {
	// A codec that is slow is no workflow that is stuck.
	return workflow.DataConverterWithoutDeadlockDetection(distant{
		DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), handled{codec, wait}),
		inWorkflow:    converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), handled{codec, failTask}),
	})
}

// distant knows where it is asked.
type distant struct {
	converter.DataConverter
	inWorkflow converter.DataConverter
}

var _ workflow.ContextAware = distant{}

// WithWorkflowContext implements [workflow.ContextAware].
func (d distant) WithWorkflowContext(workflow.Context) converter.DataConverter { return d.inWorkflow }

// WithContext implements [workflow.ContextAware].
func (d distant) WithContext(context.Context) converter.DataConverter { return d.DataConverter }

// handled is a codec whose failures are told to a function, and which is asked again when that returns.
type handled struct {
	converter.PayloadCodec
	failed func(attempt int, err error)
}

// Encode implements [converter.PayloadCodec].
func (h handled) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return h.do(h.PayloadCodec.Encode, all), nil
}

// Decode implements [converter.PayloadCodec].
func (h handled) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return h.do(h.PayloadCodec.Decode, all), nil
}

func (h handled) do(code func([]*commonpb.Payload) ([]*commonpb.Payload, error), all []*commonpb.Payload) []*commonpb.Payload {
	for attempt := 1; ; attempt++ {
		out, err := code(all)
		if err == nil {
			return out
		}
		h.failed(attempt, err)
	}
}

// failTask ends a workflow task: the SDK reports what is panicked with, and Temporal shows it.
func failTask(_ int, err error) { panic(err) }

func wait(attempt int, err error) {
	pause := min(time.Duration(attempt)*codecPause, maxCodecPause)
	slog.Warn("the codec server does not answer", "error", err, "again_in", pause)
	time.Sleep(pause)
}
