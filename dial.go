package reagent

import (
	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/dial"
)

// ClientOptions returns the options for a Temporal client. It reads Temporal's own configuration file and environment variables:
// TEMPORAL_PROFILE, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and others. If the given address or namespace is
// not empty, it replaces the configured value. ClientOptions returns an error if these settings cannot be read or contradict each other.
//
// If REAGENT_ENCRYPTION_KEYS, REAGENT_ENCRYPTION_KEYS_FILE or REAGENT_ENCRYPTION_KEYS_COMMAND names keys, the result has a data converter,
// which encrypts all payloads as an [EncryptionCodec] does. If TEMPORAL_CODEC_ENDPOINT names a codec server, the data converter sends all
// payloads through that server. The result then has a [ClientPlugin], too, which gives the data converter to the agents of its workers; a
// client that reads agents has it from [Client.WithConverter]. The client logs only errors, to standard error. Set Logger in the result
// to change this.
func ClientOptions(address, namespace string) (temporal.Options, error) {
	return withPlugin(dial.ClientOptions(address, namespace))
}

// WorkerOptions is like [ClientOptions], but for the client of a worker. It differs only if a codec server is configured:
//   - It returns an error if the server does not encode a test payload.
//   - The client repeats failed requests to the server.
func WorkerOptions(address, namespace string) (temporal.Options, error) {
	return withPlugin(dial.WorkerOptions(address, namespace))
}

func withPlugin(o temporal.Options, err error) (temporal.Options, error) {
	if o.DataConverter != nil {
		o.Plugins = append(o.Plugins, &ClientPlugin{converter: o.DataConverter})
	}
	return o, err
}
