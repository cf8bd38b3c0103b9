package config

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	// codecPatience is how long a worker asks where the SDK gives no context, as for the result of an activity. The
	// activity then fails, and a later attempt reports the result that the worker has kept.
	codecPatience = 5 * time.Minute
	// maxCodecAnswer bounds an answer of the codec server in bytes, maxCodecError what is shown of one that is an error.
	maxCodecAnswer = 64 << 20
	maxCodecError  = 500
)

// codecSource returns the codec of a codec server. Its questions end with the context.
type codecSource func(context.Context) converter.PayloadCodec

// remote is a codec server, asked as envconfig and the Temporal CLI ask it. Unlike theirs it is not waited
// for without end, follows no redirect, and is told the namespace also where a flag names it.
func remote(c envconfig.ClientConfigCodec, namespace string) codecSource {
	client := http.Client{
		Timeout:       codecTimeout,
		Transport:     codecTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) converter.PayloadCodec {
		return converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
			Endpoint: strings.TrimSuffix(c.Endpoint, "/"),
			Client:   client,
			ModifyRequest: func(r *http.Request) error {
				*r = *r.WithContext(ctx)
				r.Header.Set("X-Namespace", namespace)
				if c.Auth != "" {
					r.Header.Set("Authorization", c.Auth)
				}
				return nil
			},
		})
	}
}

// CodecError is an answer of the codec server that asking again does not change, such as to a payload that it cannot decode.
type CodecError struct {
	Status  int // of HTTP
	Message string
}

// Error says what the codec server answered.
func (e *CodecError) Error() string {
	return fmt.Sprintf("the codec server answered HTTP %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

// codecTransport makes a [*CodecError] of each answer that is final: 3xx and 4xx, except those that ask to wait.
type codecTransport struct{ http.RoundTripper }

func (t codecTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch status := response.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
	case status >= 300 && status < 500:
		defer response.Body.Close()
		message, _ := io.ReadAll(io.LimitReader(response.Body, maxCodecError)) // the status says the most
		return nil, &CodecError{Status: status, Message: strings.TrimSpace(strings.ToValidUTF8(string(message), "\uFFFD"))}
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxCodecAnswer)
	return response, nil
}

// commandConverter is the data converter of a command: an error of the codec server is an error of the command.
func commandConverter(server codecSource) converter.DataConverter {
	of := func(ctx context.Context) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), server(ctx))
	}
	here := of(context.Background())
	return contextConverter{DataConverter: here, inWorkflow: here, withContext: of}
}

// retryingConverter is the data converter of a worker whose codec is another process. A codec server that is away fails no agent
// and no activity: in a workflow it fails the task, which Temporal gives out again, and elsewhere it is asked again until
// the context ends.
func retryingConverter(server codecSource) converter.DataConverter {
	of := func(ctx context.Context, patience time.Duration) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), retrying{server, ctx, patience})
	}
	// A codec that is slow is no workflow that is stuck.
	return workflow.DataConverterWithoutDeadlockDetection(contextConverter{
		DataConverter: of(context.Background(), codecPatience),
		inWorkflow:    converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), failingTask{server(context.Background())}),
		withContext:   func(ctx context.Context) converter.DataConverter { return of(ctx, 0) },
	})
}

// contextConverter is a data converter that differs by where it is used.
type contextConverter struct {
	converter.DataConverter
	inWorkflow  converter.DataConverter
	withContext func(context.Context) converter.DataConverter
}

var _ workflow.ContextAware = contextConverter{}

// WithWorkflowContext implements [workflow.ContextAware].
func (d contextConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return d.inWorkflow
}

// WithContext implements [workflow.ContextAware].
func (d contextConverter) WithContext(ctx context.Context) converter.DataConverter {
	return d.withContext(ctx)
}

// failingTask is a codec whose errors end the workflow task: the SDK reports what is panicked with, and Temporal shows it.
type failingTask struct{ converter.PayloadCodec }

// Encode implements [converter.PayloadCodec].
func (f failingTask) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Encode(all))
}

// Decode implements [converter.PayloadCodec].
func (f failingTask) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Decode(all))
}

func orPanic(all []*commonpb.Payload, err error) ([]*commonpb.Payload, error) {
	if err != nil {
		panic(err)
	}
	return all, nil
}

// retrying is a codec that asks again until there is an answer, or the context or its patience ends.
type retrying struct {
	server   codecSource
	ctx      context.Context
	patience time.Duration // 0 means without end
}

// Encode implements [converter.PayloadCodec].
func (r retrying) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return r.do(converter.PayloadCodec.Encode, all)
}

// Decode implements [converter.PayloadCodec].
func (r retrying) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return r.do(converter.PayloadCodec.Decode, all)
}

func (r retrying) do(code func(converter.PayloadCodec, []*commonpb.Payload) ([]*commonpb.Payload, error), all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	ctx := r.ctx
	if r.patience > 0 {
		limited, cancel := context.WithTimeout(ctx, r.patience)
		defer cancel()
		ctx = limited
	}
	for attempt := 1; ; attempt++ {
		out, err := code(r.server(ctx), all)
		if err == nil || errors.As(err, new(*CodecError)) {
			return out, err
		}
		pause := min(time.Duration(attempt)*codecPause, maxCodecPause)
		if ctx.Err() == nil {
			slog.Warn("the codec server does not answer", "error", err, "again_in", pause)
		}
		select {
		case <-ctx.Done():
			return all, fmt.Errorf("the codec server does not answer: %w (%w)", err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
