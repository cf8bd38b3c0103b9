package dial

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
	// codecTimeout limits one request to a codec server.
	codecTimeout = 10 * time.Second
	// codecPause is the first pause before a worker repeats a request to a codec server. Each later pause is longer by this
	// time, up to maxCodecPause.
	codecPause    = 100 * time.Millisecond
	maxCodecPause = 5 * time.Second
	// codecPatience is how long a worker repeats a request for which the SDK passes no context, such as the one for the result of an
	// activity. After this time the attempt fails. The worker keeps the result, and a later attempt reports it.
	codecPatience = 5 * time.Minute
	// maxCodecAnswer is the largest size of a response of the codec server, in bytes.
	maxCodecAnswer = 64 << 20
	// maxCodecError is the number of bytes of an error response that a [CodecError] keeps.
	maxCodecError = 500
)

// codecSource returns a codec that sends its payloads to a codec server. The requests end when the context ends.
type codecSource func(context.Context) converter.PayloadCodec

// remote returns the [codecSource] for a codec server. `c` has the address of the server and the key for it. The requests are
// those of the Temporal CLI, with three differences: they have a timeout, they follow no redirects, and their header
// X-Namespace has the given namespace.
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
				r.Header.Set("X-Namespace", namespace) // the namespace may come from a command-line flag
				if c.Auth != "" {
					r.Header.Set("Authorization", c.Auth)
				}
				return nil
			},
		})
	}
}

// CodecError is a final error response of the codec server: the same request would get the same response again. An example is
// the response to a payload that the server cannot decode.
type CodecError struct {
	Status  int    // HTTP status code
	Message string // beginning of the response, at most 500 bytes
}

// Error returns a text with the status and the message of the response.
func (e *CodecError) Error() string {
	return fmt.Sprintf("the codec server answered HTTP %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

// codecTransport is the HTTP transport for requests to a codec server. It turns a response with a status 3xx or 4xx into a
// [*CodecError], except for 408, 425 and 429, because the same request may succeed later. It limits the body of any other
// response to [maxCodecAnswer] bytes.
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
		message, _ := io.ReadAll(io.LimitReader(response.Body, maxCodecError)) // the status is enough if the message cannot be read
		return nil, &CodecError{Status: status, Message: strings.TrimSpace(strings.ToValidUTF8(string(message), "\uFFFD"))}
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxCodecAnswer)
	return response, nil
}

// commandConverter returns the data converter for a client that does not belong to a worker. If a request to the codec server
// fails, this converter returns the error at once.
func commandConverter(server codecSource) converter.DataConverter {
	of := func(ctx context.Context) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), server(ctx))
	}
	here := of(context.Background())
	return &contextConverter{DataConverter: here, inWorkflow: here, withContext: of}
}

// retryingConverter returns the data converter for a worker with a codec server. While the codec server does not answer, agents
// wait and do not fail:
//   - In a workflow, a failed request fails the workflow task, and Temporal retries the task.
//   - Outside of workflows, the converter repeats the request until the context ends, or for the time [codecPatience] if the SDK
//     passes no context. It does not repeat a request after a [*CodecError].
func retryingConverter(server codecSource) converter.DataConverter {
	of := func(ctx context.Context, patience time.Duration) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), retrying{server, ctx, patience})
	}
	// The SDK's deadlock detector would mistake a slow codec server for a workflow that is stuck.
	return workflow.DataConverterWithoutDeadlockDetection(&contextConverter{
		DataConverter: of(context.Background(), codecPatience),
		inWorkflow:    converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), failingTask{server(context.Background())}),
		withContext:   func(ctx context.Context) converter.DataConverter { return of(ctx, 0) },
	})
}

// Encoded returns a data converter that encodes with codecs in this process. In a workflow, an error of a codec fails the workflow task, as
// that of a codec server does.
func Encoded(codecs ...converter.PayloadCodec) converter.DataConverter {
	var failing []converter.PayloadCodec
	for _, codec := range codecs {
		failing = append(failing, failingTask{codec})
	}
	plain := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...)
	return &contextConverter{
		codecs:        codecs,
		DataConverter: plain,
		// A codec may ask another machine, for example for a key.
		inWorkflow:  workflow.DataConverterWithoutDeadlockDetection(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), failing...)),
		withContext: func(context.Context) converter.DataConverter { return plain },
	}
}

// Codecs returns the codecs with which a data converter encodes in this process; nil if it does not come from [Encoded].
func Codecs(dc converter.DataConverter) []converter.PayloadCodec {
	if local, ok := dc.(interface {
		Codecs() []converter.PayloadCodec
	}); ok {
		return local.Codecs()
	}
	return nil
}

// contextConverter passes each value on to another data converter: in workflows to `inWorkflow`, outside of workflows to the
// result of `withContext`, and to the embedded converter if the SDK passes no context.
type contextConverter struct {
	converter.DataConverter
	inWorkflow  converter.DataConverter
	withContext func(context.Context) converter.DataConverter
	codecs      []converter.PayloadCodec // nil if they are not in this process
}

// Codecs is what the function [Codecs] returns.
func (d *contextConverter) Codecs() []converter.PayloadCodec { return d.codecs }

var _ workflow.ContextAware = (*contextConverter)(nil)

func (d *contextConverter) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	if aware, ok := d.inWorkflow.(workflow.ContextAware); ok {
		return aware.WithWorkflowContext(ctx)
	}
	return d.inWorkflow
}

func (d *contextConverter) WithContext(ctx context.Context) converter.DataConverter {
	return d.withContext(ctx)
}

// failingTask is a codec for workflows. It panics with the error of the embedded codec, which fails the workflow task but not the
// workflow. Temporal shows the error and retries the task.
type failingTask struct{ converter.PayloadCodec }

func (f failingTask) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Encode(all))
}

func (f failingTask) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Decode(all))
}

func orPanic(payloads []*commonpb.Payload, err error) ([]*commonpb.Payload, error) {
	if err != nil {
		panic(err)
	}
	return payloads, nil
}

// retrying is a codec that repeats a failed request to a codec server until a request succeeds, the server returns a
// [*CodecError], `ctx` ends, or the time `patience` has passed.
type retrying struct {
	server   codecSource
	ctx      context.Context
	patience time.Duration // 0 means no limit
}

func (r retrying) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return r.do(converter.PayloadCodec.Encode, all)
}

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
			slog.Warn("a request to the codec server failed; the worker repeats it", "error", err, "again_in", pause)
		}
		select {
		case <-ctx.Done():
			return all, fmt.Errorf("no request to the codec server succeeded before the context ended: %w (%w); check that the codec server is running and reachable", err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
