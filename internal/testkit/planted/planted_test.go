package planted

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A word is found in every form and place of it, and no other word is.
func TestSearchFindsEveryForm(t *testing.T) {
	const word = "plum-of-the-task"
	packed := func(to func(io.Writer) io.WriteCloser) string {
		var out bytes.Buffer
		z := to(&out)
		_, err := z.Write([]byte(`{"text":"a ` + word + `"}`))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return out.String()
	}
	gz := packed(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	quoted, err := json.Marshal("a <" + word + ">\n")
	require.NoError(t, err)
	for name, content := range map[string]string{
		"plain": "x" + word + "y", "JSON": string(quoted), "hex": hex.EncodeToString([]byte("x" + word)), "gzip": "xx" + gz + "yy",
		"zlib":          "xx" + packed(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"base64, 0":     base64.StdEncoding.EncodeToString([]byte(word + "xyz")),
		"base64, 1":     base64.StdEncoding.EncodeToString([]byte("\xffx"[1:] + word + "xy")),
		"base64, 2":     base64.URLEncoding.EncodeToString([]byte("ab" + word + "\xff\xfe")),
		"base64, gzip":  `{"state":"` + base64.StdEncoding.EncodeToString([]byte(gz)) + `"}`,
		"damaged gzip":  gz[:len(gz)-6],
		"base64, later": "a" + base64.StdEncoding.EncodeToString([]byte(gz)),
	} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "below", "db-wal"), []byte(content), 0o600))
		found, err := In(dir, []string{word, "plum-of-the-answer"})
		require.NoError(t, err)
		require.Len(t, found, 1, "%s: %v", name, found)
		require.Contains(t, found[word], "db-wal", name)
	}
	require.Empty(t, Text("plum-of-the-tas plum of the task", []string{word}))
}
