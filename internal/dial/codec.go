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
	// codecTimeout is the longest duration of one request to a codec server.
	codecTimeout = 10 * time.Second
	// codecPause is the first pause before a worker repeats a request to a codec server. Each later pause is longer, up to
	// [maxCodecPause].
	codecPause = 100 * time.Millisecond
	// maxCodecPause is the longest pause before a worker repeats a request to a codec server.
	maxCodecPause = 5 * time.Second
	// codecPatience is the longest time for which a worker repeats a request if the SDK passes no context, for example when
	// the SDK encodes the result of an activity. After this time, the activity attempt fails. The worker keeps the result,
	// and a later attempt reports it.
	codecPatience = 5 * time.Minute
	// maxCodecAnswer is the largest size of a response of the codec server, in bytes.
	maxCodecAnswer = 64 << 20
	// maxCodecError is the number of bytes of an error response that a [CodecError] keeps.
	maxCodecError = 500
)

// codecSource returns a codec for a context. The codec sends requests to a codec server, which encodes and decodes the
// payloads. These requests end when the context ends.
type codecSource func(context.Context) converter.PayloadCodec

// remote returns the [codecSource] for a codec server. `c` has the address of the server and the key for it. The requests are
// the same as those of the Temporal CLI, with three differences. They have a timeout. They do not follow redirects. Their
// header X-Namespace has the given namespace.
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

// CodecError is an error response of the codec server that is final: the same request would get the same response again. An
// example is the response to a payload that the server cannot decode.
type CodecError struct {
	Status  int    // HTTP status code
	Message string // beginning of the response
}

// Error returns a text with the status and the message of the response.
func (e *CodecError) Error() string {
	return fmt.Sprintf("the codec server answered HTTP %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

// codecTransport is the HTTP transport for requests to a codec server. It turns a response with a status 3xx or 4xx into a
// [*CodecError]. The statuses 408, 425 and 429 are exceptions, because the same request may succeed later. The body of any
// other response is limited to [maxCodecAnswer] bytes.
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
	return contextConverter{DataConverter: here, inWorkflow: here, withContext: of}
}

// retryingConverter returns the data converter for a worker with a codec server. While the codec server does not answer,
// agents wait and do not fail. In a workflow, a failed request fails the workflow task, and Temporal retries the task. Outside
// of workflows, the converter repeats the request until the context ends. Without a context, it repeats the request for the
// time [codecPatience]. It does not repeat a request after a [*CodecError].
func retryingConverter(server codecSource) converter.DataConverter {
	of := func(ctx context.Context, patience time.Duration) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), retrying{server, ctx, patience})
	}
	// The SDK's deadlock detector would mistake a slow codec server for a workflow that is stuck.
	return workflow.DataConverterWithoutDeadlockDetection(contextConverter{
		DataConverter: of(context.Background(), codecPatience),
		inWorkflow:    converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), failingTask{server(context.Background())}),
		withContext:   func(ctx context.Context) converter.DataConverter { return of(ctx, 0) },
	})
}

// contextConverter is a data converter that works differently inside and outside of workflows. It passes each value on to
// another data converter. In workflows, this other converter is `inWorkflow`. Outside of workflows, it is the result of
// `withContext`. If the SDK passes no context, it is the embedded converter.
type contextConverter struct {
	converter.DataConverter
	inWorkflow  converter.DataConverter
	withContext func(context.Context) converter.DataConverter
}

var _ workflow.ContextAware = contextConverter{}

// WithWorkflowContext returns the data converter for workflows. It implements [workflow.ContextAware].
func (d contextConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return d.inWorkflow
}

// WithContext returns a data converter whose requests end when ctx ends. It implements [workflow.ContextAware].
func (d contextConverter) WithContext(ctx context.Context) converter.DataConverter {
	return d.withContext(ctx)
}

// failingTask is a codec for workflows. If the embedded codec returns an error, failingTask panics with this error. The panic
// fails the workflow task but not the workflow. Temporal shows the error and retries the task.
type failingTask struct{ converter.PayloadCodec }

// Encode encodes payloads and panics if that fails. It implements [converter.PayloadCodec].
func (f failingTask) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Encode(all))
}

// Decode decodes payloads and panics if that fails. It implements [converter.PayloadCodec].
func (f failingTask) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return orPanic(f.PayloadCodec.Decode(all))
}

func orPanic(payloads []*commonpb.Payload, err error) ([]*commonpb.Payload, error) {
	if err != nil {
		panic(err)
	}
	return payloads, nil
}

// retrying is a codec that repeats each failed request to a codec server. It stops when a request succeeds or the server
// returns a [*CodecError]. It also stops when `ctx` ends, or after the time `patience`.
type retrying struct {
	server   codecSource
	ctx      context.Context
	patience time.Duration // 0 means no limit
}

// Encode encodes payloads and repeats failed requests. It implements [converter.PayloadCodec].
func (r retrying) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return r.do(converter.PayloadCodec.Encode, all)
}

// Decode decodes payloads and repeats failed requests. It implements [converter.PayloadCodec].
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
			return all, fmt.Errorf("the codec server did not answer in time; check that it runs: %w (%w)", err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
