package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// DefaultAddress is where Temporal is looked for when nothing says otherwise.
// It is written as an IP address because localhost may mean ::1, where a server
// on 127.0.0.1 does not listen.
const DefaultAddress = "127.0.0.1:7233"

// ClientOptions returns the options of a Temporal client from Temporal's own
// configuration file and environment: TEMPORAL_PROFILE, TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and its like. An address or
// a namespace that is given here goes before those; the empty string leaves
// them. HostPort and Namespace of the result are always set.
//
// The client logs errors only, to standard error; set Logger for more.
func ClientOptions(address, namespace string) (client.Options, error) {
	opts, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("configuration of the Temporal client (TEMPORAL_… or temporal.toml): %w", err)
	}
	opts.HostPort = cmp.Or(address, opts.HostPort, DefaultAddress)
	opts.Namespace = cmp.Or(namespace, opts.Namespace, client.DefaultNamespace)
	if scheme, _, ok := strings.Cut(opts.HostPort, "://"); ok {
		return client.Options{}, fmt.Errorf("the Temporal address %q must be host:port, without %s://", opts.HostPort, scheme)
	}
	opts.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	return opts, nil
}
