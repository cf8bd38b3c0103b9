package attempt

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/encryption"
)

// With keys, the files of results have no text of them. A worker that is started again with the keys reads them, also those of an older key. One
// without the keys has no result, and one that accepts plain files reads those from before there were keys.
func TestFilesOfResultsAreEncrypted(t *testing.T) {
	dir := t.TempDir()
	with := func(codecs ...converter.PayloadCodec) *kept {
		k, err := newKept(1<<20, dir, func() []converter.PayloadCodec { return codecs }, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return k
	}
	codec := func(o encryption.Options) converter.PayloadCodec {
		c, err := encryption.New(o)
		require.NoError(t, err)
		return c
	}
	const key, before = agent.Key("tool-1"), agent.Key("tool-2")
	keys := map[string][]byte{"old": make([]byte, 32)}
	with().put(t.Context(), before, "plain")
	with(codec(encryption.Options{Keys: keys, KeyID: "old"})).put(t.Context(), key, "secret")
	stored := func(key agent.Key) string {
		file, err := os.ReadFile(filepath.Join(dir, string(key)+fileSuffix))
		require.NoError(t, err)
		return string(file)
	}
	require.Contains(t, stored(before), "plain")
	require.NotContains(t, stored(key), "secret")

	keys["new"] = append(make([]byte, 31), 1)
	var result string
	next := with(codec(encryption.Options{Keys: keys, KeyID: "new"}))
	require.True(t, next.get(t.Context(), key, &result))
	require.Equal(t, "secret", result)
	require.True(t, next.has(key))
	require.False(t, next.has(before), "a plain file is refused")
	require.True(t, with(codec(encryption.Options{Keys: keys, KeyID: "new", PlainPayloads: true})).get(t.Context(), before, &result))
	require.Equal(t, "plain", result)
	require.False(t, with().has(key), "a worker without the keys")
	require.True(t, with().has(before))
}
