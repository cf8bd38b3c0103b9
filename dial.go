package reagent

import (
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/dial"
)

// ClientOptions returns the options for a Temporal client. It reads Temporal's own configuration file and environment variables:
// TEMPORAL_PROFILE, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and others. If the given address or namespace is
// not empty, it replaces the configured value. ClientOptions returns an error if these settings cannot be read or contradict each other.
//
// If TEMPORAL_CODEC_ENDPOINT names a codec server, the result has a data converter, which sends all payloads through that server, for
// example to encrypt them. Give the data converter to [Options.Converter], too. The client logs only errors, to standard error. Set
// Logger in the result to change this.
func ClientOptions(address, namespace string) (client.Options, error) {
	return dial.ClientOptions(address, namespace)
}

// WorkerOptions is like [ClientOptions], but for the client of a worker. It differs only if a codec server is configured:
//   - It returns an error if the server does not encode a test payload.
//   - The client repeats failed requests to the server.
func WorkerOptions(address, namespace string) (client.Options, error) {
	return dial.WorkerOptions(address, namespace)
}
