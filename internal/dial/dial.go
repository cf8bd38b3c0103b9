// Package dial makes the options of Temporal clients from Temporal's own settings, with the keys or the codec server for their payloads.
package dial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/internal/whoami"
)

// DefaultAddress is the address of Temporal if no other address is set. It is not "localhost", because that name may mean ::1,
// on which a server that listens on 127.0.0.1 does not listen.
const DefaultAddress = "127.0.0.1:7233"

// ClientOptions returns the options of a Temporal client. It reads Temporal's own configuration file and environment variables:
// TEMPORAL_PROFILE, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and others. If the given address or namespace is
// not empty, it replaces the configured value. The result always has an address and a namespace.
//
// If there are keys (see [encryption.FromEnvironment]), or TEMPORAL_CODEC_ENDPOINT names a codec server, the result has a data converter and
// a failure converter. They encode all payloads that go to Temporal, and decode all payloads that come from Temporal. Code that reads the
// histories of agents needs the same data converter.
//
// ClientOptions returns an error if the settings or the keys cannot be read, if the address begins with a scheme such as http://, if
// TEMPORAL_CODEC_AUTH is set without TEMPORAL_CODEC_ENDPOINT, or if there are keys and a codec server.
//
// The client logs only errors, to standard error. Set `Logger` in the result to change this.
func ClientOptions(address, namespace string) (client.Options, error) {
	opts, encoding, err := options(address, namespace)
	if err != nil {
		return client.Options{}, err
	}
	opts.Identity = whoami.User() + "@" + whoami.Machine() // Temporal stores it with each request
	switch {
	case encoding.keys != nil:
		Encode(&opts, Encoded(encoding.keys.Codec))
	case encoding.server != nil:
		Encode(&opts, commandConverter(encoding.server))
	}
	return opts, nil
}

// WorkerOptions is [ClientOptions] for the client of a worker. The difference matters only if a codec server is configured.
// WorkerOptions then sends a test payload to the codec server, and returns an error if the server does not encode the payload.
// Later, the worker repeats each failed request to the codec server, because an agent could fail or make a call twice if it
// did not. It does not repeat a request after a [CodecError].
func WorkerOptions(address, namespace string) (client.Options, error) {
	opts, encoding, err := options(address, namespace)
	if err != nil {
		return client.Options{}, err
	}
	if encoding.keys != nil {
		Encode(&opts, Encoded(encoding.keys.Codec))
	}
	if encoding.server == nil {
		return opts, nil
	}
	if _, err := encoding.server(context.Background()).Encode([]*commonpb.Payload{{}}); err != nil {
		return client.Options{}, fmt.Errorf("the codec server that TEMPORAL_CODEC_ENDPOINT names did not encode a test payload: %w; check the server and its address", err)
	}
	Encode(&opts, retryingConverter(encoding.server))
	return opts, nil
}

// Encode makes a client encode its payloads and failures with `dc`. Failures are encoded because they contain texts of models
// and tools.
func Encode(opts *client.Options, dc converter.DataConverter) {
	opts.DataConverter = dc
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: dc, EncodeCommonAttributes: true,
	})
}

// encoding is what encodes the payloads of a client. At most one of its fields is set.
type encoding struct {
	keys   *encryption.Keys
	server codecSource
}

// options returns the options of [ClientOptions] without a data converter.
func options(address, namespace string) (client.Options, encoding, error) {
	opts, codec, err := connection(address, namespace)
	if err != nil {
		return client.Options{}, encoding{}, err
	}
	keys, err := encryption.FromEnvironment(context.Background())
	switch {
	case err != nil:
		return client.Options{}, encoding{}, err
	case codec == nil:
		return opts, encoding{keys: keys}, nil
	case keys != nil:
		return client.Options{}, encoding{}, errors.New("there are keys (REAGENT_ENCRYPTION_KEYS…) and a codec server (TEMPORAL_CODEC_ENDPOINT or temporal.toml), and only one of them can encode: unset one; a program with the keys needs no server")
	}
	return opts, encoding{server: remote(*codec, opts.Namespace)}, nil
}

// connection returns the options without an encoding, and the settings of the codec server; nil if there is none.
func connection(address, namespace string) (client.Options, *envconfig.ClientConfigCodec, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	var opts client.Options
	if err == nil {
		opts, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	if err != nil {
		return client.Options{}, nil, fmt.Errorf("the configuration of the Temporal client cannot be used: %w; correct the variables TEMPORAL_… or the file temporal.toml", err)
	}
	opts.HostPort = cmp.Or(address, opts.HostPort, DefaultAddress)
	opts.Namespace = cmp.Or(namespace, opts.Namespace, client.DefaultNamespace)
	if scheme, _, ok := strings.Cut(opts.HostPort, "://"); ok {
		return client.Options{}, nil, fmt.Errorf("the Temporal address %q must be host:port, without %s://", opts.HostPort, scheme)
	}
	opts.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if profile.Codec == nil || *profile.Codec == (envconfig.ClientConfigCodec{}) { // a variable may be set and empty
		return opts, nil, nil
	}
	if profile.Codec.Endpoint == "" {
		return client.Options{}, nil, errors.New("the codec has an auth (TEMPORAL_CODEC_AUTH or temporal.toml) but no endpoint, so payloads would not be encrypted: set TEMPORAL_CODEC_ENDPOINT, or remove the auth")
	}
	return opts, profile.Codec, nil
}

// Cloud reports whether a client with this address and namespace connects to Temporal Cloud: see [ClientOptions] and [OnTemporalCloud].
func Cloud(address, namespace string) bool {
	opts, _, err := connection(address, namespace)
	return err == nil && OnTemporalCloud(opts)
}

// OnTemporalCloud reports whether a client with these options connects to Temporal Cloud. It decides by the name of the host, or by the
// server name in the TLS options. The options must come from [ClientOptions] or [WorkerOptions].
func OnTemporalCloud(opts client.Options) bool {
	host, _, _ := strings.Cut(opts.HostPort, ":")
	names := []string{host}
	if tls := opts.ConnectionOptions.TLS; tls != nil {
		names = append(names, tls.ServerName) // of a private endpoint, whose address has another name
	}
	return slices.ContainsFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		return strings.HasSuffix(name, ".tmprl.cloud") || strings.HasSuffix(name, ".api.temporal.io")
	})
}
