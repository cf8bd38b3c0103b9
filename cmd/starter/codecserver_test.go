package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/encryption"
)

// What keeps the codec server from a safe start is an error of usage, and says what to do. It has no key and no credential.
func TestCodecServerDoesNotStartOpen(t *testing.T) {
	const key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
	for _, name := range []string{encryption.KeysEnv, encryption.KeysFileEnv, encryption.KeysCommandEnv, codecAuthEnv} {
		t.Setenv(name, "")
	}
	refused := func(want string, args ...string) {
		t.Helper()
		code, stdout, stderr := starter(t, append([]string{"codec-server", "--listen", "127.0.0.1:0"}, args...)...)
		require.Equal(t, exit.Usage, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.NotContains(t, stderr, "BwcH")
	}
	refused("there are no keys: set REAGENT_ENCRYPTION_KEYS_FILE to a file with them, as for the workers")
	t.Setenv(encryption.KeysEnv, "keys: {k: "+key+"=}")
	refused("REAGENT_ENCRYPTION_KEYS: keys.k is not base64")
	t.Setenv(encryption.KeysEnv, "keys: {k: "+key+"}")
	refused("everyone who can reach this address could decode all payloads: give --auth-file or REAGENT_CODEC_AUTH, or listen at 127.0.0.1", "--listen", "0.0.0.0:0")
	refused(`--origin "http://localhost:8233/" is not the origin of a page`, "--origin", "http://localhost:8233/")
	refused("--tls-cert and --tls-key belong together", "--tls-cert", "x")
	file := filepath.Join(t.TempDir(), "auth.txt")
	refused("--auth-file: the file with the credentials cannot be read: ", "--auth-file", file)
	require.NoError(t, os.WriteFile(file, []byte("Bearer BwcHBwcH\n"), 0o600))
	refused("--auth-file "+file+": line 1: the token must have at least 16 characters", "--auth-file", file)
	t.Setenv(codecAuthEnv, key)
	refused("REAGENT_CODEC_AUTH: line 1: write `Bearer TOKEN`")
}
