package credential_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/credential"
)

// counting returns a shell command that prints token-N at its N-th run, and a function that counts the runs.
func counting(t *testing.T, before string) (argv []string, runs func() int) {
	file := filepath.Join(t.TempDir(), "runs")
	count := func() int {
		content, _ := os.ReadFile(file)
		return strings.Count(string(content), "x")
	}
	return []string{"sh", "-c", before + "printf x >> " + file + "; echo token-$(wc -c < " + file + " | tr -d ' ')"}, count
}

func TestKeyIsUsedForItsLifetimeOrUntilItIsRefused(t *testing.T) {
	argv, runs := counting(t, "")
	c := credential.NewCommand(argv, time.Hour)
	for range 3 {
		key, err := c.Key(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "token-1", key)
	}
	refused := func(key string) bool { return key == "token-1" }
	for range 3 { // requests that were sent with the old key are refused one after the other
		key, err := c.Key(t.Context(), refused)
		require.NoError(t, err)
		require.Equal(t, "token-2", key)
	}
	require.Equal(t, 2, runs())

	short := credential.NewCommand(argv, time.Nanosecond)
	for _, want := range []string{"token-3", "token-4"} {
		key, err := short.Key(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, want, key)
	}
}

func TestManyCallersShareOneRun(t *testing.T) {
	argv, runs := counting(t, "sleep 0.2; ")
	c := credential.NewCommand(argv, 0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			key, err := c.Key(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, "token-1", key)
		})
	}
	all.Wait()
	require.Equal(t, 1, runs())
}

func TestCommandThatPrintsNoKeyIsNamed(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'log in first' >&2; echo sk-secret; exit 3": "sh -c echo 'log in first' >&2; echo sk-secret; exit 3: the command failed: exit status 3: log in first",
		"set -x; echo sk-secret; exit 1":                  "the command failed: exit status 1: + echo [hidden]",
		"true":                                            "sh -c true: the command printed nothing; it must print the key to its standard output",
		"echo a; echo b":                                  "sh -c echo a; echo b: the command printed several lines; it must print only the key",
		"head -c 1000000 /dev/zero | tr '\\0' k":          "the command printed more than 16 KiB; it must print only the key",
	} {
		_, err := credential.NewCommand([]string{"sh", "-c", script}, 0).Key(t.Context(), nil)
		require.ErrorContains(t, err, want)
	}
	_, err := credential.NewCommand([]string{"/no/such/program"}, 0).Key(t.Context(), nil)
	require.ErrorContains(t, err, "/no/such/program: the command cannot be started")
}

// A caller whose context ends does not wait for a command that hangs.
func TestCallerDoesNotWaitForACommandThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := credential.NewCommand([]string{"sh", "-c", "sleep 5"}, 0).Key(ctx, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
