package dial

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/encryption"
)

// codecServer is a codec server that records its requests. It answers the nth request with status 503 if up is set and up(n)
// is false.
type codecServer struct {
	up   func(n int) bool
	seen []codecRequest
}

type codecRequest struct{ path, auth, namespace string }

func (s *codecServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.seen = append(s.seen, codecRequest{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Namespace")})
	if s.up != nil && !s.up(len(s.seen)) {
		http.Error(w, "later", http.StatusServiceUnavailable)
		return
	}
	converter.NewPayloadCodecHTTPHandler(converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true})).ServeHTTP(w, r)
}

func serveCodec(t *testing.T, up func(n int) bool) *codecServer {
	s := &codecServer{up: up}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	unset(t, "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY", "TEMPORAL_PROFILE", "TEMPORAL_TLS")
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", listener.URL+"/")
	t.Setenv("TEMPORAL_CODEC_AUTH", "Bearer me")
	return s
}

func TestClientOptionsUseTheCodecServer(t *testing.T) {
	server := serveCodec(t, nil)
	opts, err := ClientOptions("", "ours")
	require.NoError(t, err)

	encoded, err := opts.DataConverter.ToPayload("text")
	require.NoError(t, err)
	require.Equal(t, "binary/zlib", string(encoded.GetMetadata()[converter.MetadataEncoding]))
	var text string
	require.NoError(t, opts.DataConverter.FromPayload(encoded, &text))
	require.Equal(t, "text", text)
	require.Equal(t, []codecRequest{{"/encode", "Bearer me", "ours"}, {"/decode", "Bearer me", "ours"}}, server.seen)

	failure := opts.FailureConverter.ErrorToFailure(errors.New("text"))
	require.Equal(t, "Encoded failure", failure.GetMessage())
	require.EqualError(t, opts.FailureConverter.FailureToError(failure), "text")
}

// If the codec server does not answer, a client returns an error, and a worker does not start.
func TestCodecServerThatIsAwayIsAnErrorAtTheStart(t *testing.T) {
	serveCodec(t, func(int) bool { return false })
	opts, err := ClientOptions("", "")
	require.NoError(t, err)
	_, err = opts.DataConverter.ToPayload("text")
	require.ErrorContains(t, err, "Service Unavailable: later")
	_, err = WorkerOptions("", "")
	require.ErrorContains(t, err, "the codec server that TEMPORAL_CODEC_ENDPOINT names did not encode a test payload: Service Unavailable: later")
}

// A codec server that fails while a worker runs fails no activity and no agent. The request is repeated; in a workflow, the
// workflow task fails.
func TestCodecServerThatGoesAwayIsWaitedFor(t *testing.T) {
	server := serveCodec(t, func(n int) bool { return n == 1 || n > 3 })
	opts, err := WorkerOptions("", "")
	require.NoError(t, err)
	encoded, err := opts.DataConverter.ToPayload("text")
	require.NoError(t, err)
	require.Equal(t, "binary/zlib", string(encoded.GetMetadata()[converter.MetadataEncoding]))
	require.Len(t, server.seen, 4)

	aware, ok := opts.DataConverter.(workflow.ContextAware)
	require.True(t, ok)
	inWorkflow := aware.WithWorkflowContext(nil)
	var text string
	require.NoError(t, inWorkflow.FromPayload(encoded, &text))
	require.Equal(t, "text", text)
	server.up = func(int) bool { return false }
	require.PanicsWithError(t, "Service Unavailable: later\n", func() { _ = inWorkflow.FromPayload(encoded, &text) })
	require.PanicsWithError(t, "Service Unavailable: later\n", func() { _, _ = inWorkflow.ToPayloads("text") })
}

// TEMPORAL_CODEC_AUTH without TEMPORAL_CODEC_ENDPOINT is an error.
func TestCodecNeedsAnEndpoint(t *testing.T) {
	serveCodec(t, nil)
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "")
	_, err := ClientOptions("", "")
	require.EqualError(t, err, "the codec has an auth (TEMPORAL_CODEC_AUTH or temporal.toml) but no endpoint, so payloads would not be encrypted: set TEMPORAL_CODEC_ENDPOINT, or remove the auth")
	t.Setenv("TEMPORAL_CODEC_AUTH", "")
	opts, err := WorkerOptions("", "")
	require.NoError(t, err)
	require.Nil(t, opts.DataConverter)
}

// Keys in the environment encode without a server. They and a codec server together are an error.
func TestKeysEncodeInThisProcess(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	unset(t, "TEMPORAL_CODEC_ENDPOINT", "TEMPORAL_CODEC_AUTH", encryption.KeysFileEnv, encryption.KeysCommandEnv)
	t.Setenv(encryption.KeysEnv, "keys: {k: "+base64.StdEncoding.EncodeToString(make([]byte, 32))+"}")
	for name, options := range map[string]func(string, string) (client.Options, error){"client": ClientOptions, "worker": WorkerOptions} {
		opts, err := options("", "")
		require.NoError(t, err, name)
		payload, err := opts.DataConverter.ToPayload("text")
		require.NoError(t, err, name)
		require.Equal(t, "k", string(payload.Metadata["encryption-key-id"]), name)
		var text string
		require.NoError(t, opts.DataConverter.FromPayload(payload, &text), name)
		require.Equal(t, "text", text, name)
		failure := opts.FailureConverter.ErrorToFailure(errors.New("text"))
		require.Equal(t, "Encoded failure", failure.Message, name)
		require.False(t, Cloud("", ""))
	}
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "http://127.0.0.1:1")
	for _, options := range []func(string, string) (client.Options, error){ClientOptions, WorkerOptions} {
		_, err := options("", "")
		require.ErrorContains(t, err, "there are keys (REAGENT_ENCRYPTION_KEYS…) and a codec server")
	}
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "")
	t.Setenv(encryption.KeysEnv, "keys: {k: k}")
	for _, options := range []func(string, string) (client.Options, error){ClientOptions, WorkerOptions} {
		_, err := options("", "")
		require.ErrorContains(t, err, "REAGENT_ENCRYPTION_KEYS: keys.k is not base64")
	}
}
