package reagent

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/encryption"
)

func newCodec(t *testing.T, o EncryptionOptions) *EncryptionCodec {
	codec, err := NewEncryptionCodec(o)
	require.NoError(t, err)
	return codec
}

// A payload is readable with its key, as long as this key is there, and with no other. A changed one is an error.
func TestEncryptedPayloadNeedsItsKey(t *testing.T) {
	first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 16)
	old := newCodec(t, EncryptionOptions{Keys: map[string][]byte{"2025": first}, KeyID: "2025"})
	both := newCodec(t, EncryptionOptions{Keys: map[string][]byte{"2025": first, "2026": second}, KeyID: "2026"})
	only := newCodec(t, EncryptionOptions{Keys: map[string][]byte{"2026": second}, KeyID: "2026"})
	wrong := newCodec(t, EncryptionOptions{Keys: map[string][]byte{"2025": second}, KeyID: "2025"})

	plain := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"secret"`)}}
	sealed, err := old.Encode(plain)
	require.NoError(t, err)
	require.NotContains(t, sealed[0].String(), "secret")
	require.NotContains(t, sealed[0].String(), "json/plain")
	again, err := old.Encode(plain)
	require.NoError(t, err)
	require.NotEqual(t, sealed[0].Data, again[0].Data, "equal payloads do not look equal")
	for _, codec := range []*EncryptionCodec{old, both} {
		opened, err := codec.Decode(sealed)
		require.NoError(t, err)
		require.Equal(t, plain[0].String(), opened[0].String())
	}
	_, err = only.Decode(sealed)
	var unknown *UnknownKeyError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "2025", unknown.ID)
	_, err = wrong.Decode(sealed)
	require.ErrorContains(t, err, `decrypt a payload with the key "2025"`)
	sealed[0].Data[len(sealed[0].Data)-1]++
	_, err = old.Decode(sealed)
	require.Error(t, err)

	sealed, err = both.Encode(plain)
	require.NoError(t, err)
	_, err = only.Decode(sealed)
	require.NoError(t, err, "the new key encrypts")

	_, err = both.Decode(plain)
	require.ErrorIs(t, err, ErrPlainPayload)
	before := newCodec(t, EncryptionOptions{Keys: map[string][]byte{"k": first}, KeyID: "k", PlainPayloads: true})
	opened, err := before.Decode(plain)
	require.NoError(t, err)
	require.Equal(t, plain, opened)

	_, err = NewEncryptionCodec(EncryptionOptions{Keys: map[string][]byte{"k": []byte("short")}, KeyID: "k"})
	require.ErrorContains(t, err, `the key "k" has 5 bytes`)
	_, err = NewEncryptionCodec(EncryptionOptions{Keys: map[string][]byte{"k": first}})
	require.ErrorContains(t, err, `KeyID is "": name one of the Keys: ["k"]`)
}

// A client with a converter of its own would send payloads that the plugin does not encode, so it is refused.
func TestClientPluginIsTheOnlyConverter(t *testing.T) {
	plugin := NewClientPlugin(newCodec(t, EncryptionOptions{Keys: map[string][]byte{"k": make([]byte, 32)}, KeyID: "k"}))
	_, err := temporal.NewLazyClient(temporal.Options{Plugins: []temporal.Plugin{plugin}, DataConverter: converter.GetDefaultDataConverter()})
	require.ErrorContains(t, err, "beside the ClientPlugin")

	// A program whose environment names the codec server for starter is told which two there are.
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "http://127.0.0.1:1/codec")
	options, err := ClientOptions("", "")
	require.NoError(t, err)
	options.Plugins = []temporal.Plugin{plugin}
	_, err = temporal.NewLazyClient(options)
	require.ErrorContains(t, err, "unset TEMPORAL_CODEC_ENDPOINT or REAGENT_ENCRYPTION_KEYS… for this program, if one of them has set them, or leave out the plugin")
	c, err := temporal.NewLazyClient(temporal.Options{Plugins: []temporal.Plugin{plugin}})
	require.NoError(t, err)
	c.Close()
}

// A worker whose activities could not decode what its client encodes does not start. One with the same keys does.
func TestWorkerDecodesWhatItsClientEncodes(t *testing.T) {
	key := func(b byte) *ClientPlugin {
		return NewClientPlugin(newCodec(t, EncryptionOptions{Keys: map[string][]byte{"k": bytes.Repeat([]byte{b}, 32)}, KeyID: "k"}))
	}
	client := key(1)
	for name, c := range map[string]struct {
		converter converter.DataConverter
		fits      bool
	}{
		"none":        {nil, true},
		"its own":     {client.Converter(), true},
		"same key":    {key(1).Converter(), true},
		"another key": {key(2).Converter(), false},
		"no codec":    {converter.GetDefaultDataConverter(), false},
	} {
		agents := &Plugin{options: Options{TaskQueue: "q", Converter: c.converter}, key: "w", taskQueue: "q"}
		if c.converter == nil {
			agents.late = new(lateConverter)
		}
		require.NoError(t, client.ConfigureWorker(t.Context(), worker.PluginConfigureWorkerOptions{WorkerOptions: &worker.Options{Plugins: []worker.Plugin{agents}}}))
		err := agents.claim("w")
		require.Equal(t, c.fits, err == nil, "%s: %v", name, err)
		if !c.fits {
			require.ErrorContains(t, err, "Options.Converter cannot decode what the ClientPlugin of the Temporal client encodes")
		}
	}
}

// A worker of a client with ClientOptions needs no other setting for the keys of the environment.
func TestClientOptionsGiveTheKeysToWorkers(t *testing.T) {
	for _, name := range []string{"TEMPORAL_CODEC_ENDPOINT", "TEMPORAL_CODEC_AUTH", encryption.KeysFileEnv, encryption.KeysCommandEnv} {
		t.Setenv(name, "")
	}
	t.Setenv(encryption.KeysEnv, "keys: {k: "+base64.StdEncoding.EncodeToString(make([]byte, 32))+"}")
	for name, of := range map[string]func(string, string) (temporal.Options, error){"client": ClientOptions, "worker": WorkerOptions} {
		options, err := of("", "")
		require.NoError(t, err)
		c, err := temporal.NewLazyClient(options)
		require.NoError(t, err, name)
		for _, set := range []converter.DataConverter{nil, options.DataConverter} {
			agents := &Plugin{options: Options{TaskQueue: "q", Converter: set}, key: "w", taskQueue: "q"}
			if set == nil {
				agents.late = new(lateConverter)
				agents.options.Converter = agents.late
			}
			worker.New(c, "q", worker.Options{Plugins: []worker.Plugin{agents}})
			require.NoError(t, agents.claim("w"))
			payload, err := agents.options.Converter.ToPayload("text")
			require.NoError(t, err)
			require.Equal(t, "k", string(payload.Metadata["encryption-key-id"]), name)
			require.Len(t, dial.Codecs(agents.options.Converter), 1, "the files of results are encrypted")
		}
		c.Close()
	}
}
