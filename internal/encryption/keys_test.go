package encryption

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
)

func key(b byte, length int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, length))
}

// The active key encrypts, and the others decrypt. One key alone is the active one.
func TestKeysRotate(t *testing.T) {
	old, err := Parse([]byte("keys: {2025: " + key(1, 32) + "}"))
	require.NoError(t, err)
	require.Equal(t, "2025", old.Active)
	both, err := Parse([]byte("active: 2026\nkeys:\n  '2025': " + key(1, 32) + "\n  '2026': '" + key(2, 32) + "'\n"))
	require.NoError(t, err)
	require.Equal(t, "2026", both.Active)
	require.Equal(t, []string{"2025", "2026"}, both.IDs)
	require.Subset(t, both.Secrets(), []string{key(1, 32), key(2, 32), strings.Repeat("02", 32)})

	plain := []*commonpb.Payload{{Data: []byte("text")}}
	sealed, err := old.Codec.Encode(plain)
	require.NoError(t, err)
	opened, err := both.Codec.Decode(sealed)
	require.NoError(t, err)
	require.Equal(t, "text", string(opened[0].Data))
	sealed, err = both.Codec.Encode(plain)
	require.NoError(t, err)
	require.Equal(t, "2026", string(sealed[0].Metadata[keyIDField]))
	_, err = old.Codec.Decode(sealed)
	require.ErrorAs(t, err, new(*UnknownKeyError))

	// A short key of a program in Go still decrypts.
	_, err = Parse([]byte("active: b\nkeys: {a: " + key(1, 16) + ", b: " + key(2, 32) + "}\nplain_payloads: true"))
	require.NoError(t, err)
}

// Each mistake names its field and what to write. No error has a part of a key.
func TestMistakesInKeysAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "there are no keys: write `active` and `keys`",
		"KEY":                             "the text must be a mapping",
		"keys: KEY":                       "keys must be a mapping",
		"keys: {}":                        "keys is empty: write an ID and 32 random bytes in base64, such as the output of `openssl rand -base64 32`",
		"keys: {a: KEY, a: KEY}":          "line 1: keys has a name twice",
		"keys: {a: KEY, b: KEY}":          `active must be the ID of the key that encrypts, which is one of ["a" "b"]`,
		"active: c\nkeys: {a: KEY}":       `active must be the ID of the key that encrypts, which is one of ["a"]`,
		"active: [KEY]\nkeys: {a: KEY}":   "active must be the ID of a key",
		"active: KEY\nkeys: {a: KEY}":     `active must be the ID of the key that encrypts`,
		"keys: {a: SHORT}":                "keys.a has 16 bytes, which only decrypts: a key that encrypts has 32 random bytes in base64",
		"keys: {a: KEYKEY}":               "keys.a has 64 bytes: write 32 random bytes",
		"keys: {a: KEY-}":                 "keys.a is not base64: write 32 random bytes in base64",
		"keys: {a: [KEY]}":                "keys.a is not base64",
		"keys: {KEY: a}":                  "line 1: the ID of a key must be a short name",
		"keys:\n- KEY":                    "keys must be a mapping",
		"keys: {a: KEY}\nKEY: a":          "line 2 has an unknown field: there are only active, keys and plain_payloads",
		"keys: {a: KEY}\nplain_payloads:": "plain_payloads must be true or false",
		"keys: {a: *KEY}":                 "the keys are not YAML",
		"keys: {a: KEY":                   "the keys are not YAML: see line",
		"keys: {a: !!int KEY}\nkeys: KEY": "line 2: the text has a name twice",
	} {
		_, err := Parse([]byte(strings.NewReplacer("KEYKEY", key(7, 64), "KEY", key(7, 32), "SHORT", key(7, 16)).Replace(text)))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "BwcH", text)
	}
}

// The keys come from one of three variables. Errors name it, and have no key.
func TestKeysComeFromTheEnvironment(t *testing.T) {
	text := "keys: {k: " + key(7, 32) + "}"
	for _, name := range []string{KeysEnv, KeysFileEnv, KeysCommandEnv} {
		t.Setenv(name, "")
	}
	keys, err := FromEnvironment(t.Context())
	require.NoError(t, err)
	require.Nil(t, keys)
	require.Empty(t, SecretsOfEnvironment())

	t.Setenv(KeysEnv, text)
	keys, err = FromEnvironment(t.Context())
	require.NoError(t, err)
	require.Equal(t, "k", keys.Active)
	require.Contains(t, SecretsOfEnvironment(), key(7, 32))

	file := filepath.Join(t.TempDir(), "keys.yaml")
	t.Setenv(KeysFileEnv, file)
	_, err = FromEnvironment(t.Context())
	require.EqualError(t, err, "REAGENT_ENCRYPTION_KEYS and REAGENT_ENCRYPTION_KEYS_FILE are both set: keep the one that has the keys")
	t.Setenv(KeysEnv, "")
	_, err = FromEnvironment(t.Context())
	require.ErrorContains(t, err, "REAGENT_ENCRYPTION_KEYS_FILE: the file with the keys cannot be read: open "+file)
	require.NoError(t, os.WriteFile(file, []byte("keys: {k: short}"), 0o600))
	_, err = FromEnvironment(t.Context())
	require.ErrorContains(t, err, "REAGENT_ENCRYPTION_KEYS_FILE: "+file+": keys.k is not base64")
	require.Empty(t, SecretsOfEnvironment())
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	keys, err = FromEnvironment(t.Context())
	require.NoError(t, err)
	require.Equal(t, "k", keys.Active)
	require.Contains(t, SecretsOfEnvironment(), key(7, 32))
	t.Setenv(KeysFileEnv, "")

	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv(KeysCommandEnv, "echo x >>"+runs+"; cat "+file)
	require.Empty(t, SecretsOfEnvironment(), "it has not run")
	for range 2 {
		keys, err = FromEnvironment(t.Context())
		require.NoError(t, err)
		require.Equal(t, "k", keys.Active)
	}
	require.Contains(t, SecretsOfEnvironment(), hex.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	ran, err := os.ReadFile(runs)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(ran))
	for command, want := range map[string]string{
		"set -x; cat " + file + "; echo " + key(7, 32) + " >&2; exit 3": "REAGENT_ENCRYPTION_KEYS_COMMAND: the command failed: exit status 3: ",
		"true":                         "REAGENT_ENCRYPTION_KEYS_COMMAND: the command printed nothing",
		"echo " + key(7, 32):           "REAGENT_ENCRYPTION_KEYS_COMMAND: the text must be a mapping",
		"head -c 100000 /dev/zero":     "REAGENT_ENCRYPTION_KEYS_COMMAND: the command printed more than 64 KiB",
		fmt.Sprint("exit ", len(text)): "REAGENT_ENCRYPTION_KEYS_COMMAND: the command failed",
	} {
		t.Setenv(KeysCommandEnv, command)
		_, err = FromEnvironment(t.Context())
		require.ErrorContains(t, err, want, command)
		require.NotContains(t, err.Error(), "BwcH", command)
	}
}
