package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// DefaultAddress is the address of Temporal if neither a flag nor the environment names one.
// It is written as an IP address because localhost may mean ::1, where a server
// on 127.0.0.1 does not listen.
const DefaultAddress = "127.0.0.1:7233"

// ClientOptions returns the options of a Temporal client from Temporal's own
// configuration file and environment: TEMPORAL_PROFILE, TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and its like. An address or
// a namespace that is given here goes before those; the empty string leaves
// them. HostPort and Namespace of the result are always set.
//
// Where TEMPORAL_CODEC_ENDPOINT names a codec server, DataConverter and FailureConverter are
// set: what agents say and do passes through it on its way into Temporal and out again. Whoever
// reads agents gets the same DataConverter.
//
// The client logs errors only, to standard error; set Logger for more.
func ClientOptions(address, namespace string) (client.Options, error) {
	opts, codec, err := options(address, namespace)
	if codec != nil {
		encode(&opts, commandConverter(codec))
	}
	return opts, err
}

// WorkerOptions is [ClientOptions] for the client of a worker. It fails where the codec server does
// not answer; one that goes away later is waited for: what the SDK makes of an error there is an agent
// that failed, or a call that is made twice. An answer of 4xx is not waited for; see [CodecError].
func WorkerOptions(address, namespace string) (client.Options, error) {
	opts, codec, err := options(address, namespace)
	if codec == nil {
		return opts, err
	}
	if _, err := codec(context.Background()).Encode([]*commonpb.Payload{{}}); err != nil {
		return client.Options{}, fmt.Errorf("the codec server that TEMPORAL_CODEC_ENDPOINT names does not encode payloads: %w", err)
	}
	encode(&opts, retryingConverter(codec))
	return opts, nil
}

// encode lets payloads and the words of failures, which are those of models and tools, pass
// through a converter.
func encode(opts *client.Options, dc converter.DataConverter) {
	opts.DataConverter = dc
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: dc, EncodeCommonAttributes: true,
	})
}

// options reads file and environment. The codec is nil where none is named.
func options(address, namespace string) (client.Options, codecSource, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	var opts client.Options
	if err == nil {
		opts, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	if err != nil {
		return client.Options{}, nil, fmt.Errorf("configuration of the Temporal client (TEMPORAL_… or temporal.toml): %w", err)
	}
	opts.HostPort = cmp.Or(address, opts.HostPort, DefaultAddress)
	opts.Namespace = cmp.Or(namespace, opts.Namespace, client.DefaultNamespace)
	if scheme, _, ok := strings.Cut(opts.HostPort, "://"); ok {
		return client.Options{}, nil, fmt.Errorf("the Temporal address %q must be host:port, without %s://", opts.HostPort, scheme)
	}
	opts.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if profile.Codec == nil || *profile.Codec == (envconfig.ClientConfigCodec{}) { // a variable may be set to nothing
		return opts, nil, nil
	}
	if profile.Codec.Endpoint == "" {
		return client.Options{}, nil, errors.New("TEMPORAL_CODEC_AUTH is set and TEMPORAL_CODEC_ENDPOINT is not: payloads would not be encrypted: set both, or neither")
	}
	return opts, remote(*profile.Codec, opts.Namespace), nil
}
