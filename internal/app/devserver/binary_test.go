//go:build unix

package devserver

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeGo replaces the go command. It writes its arguments to a log, waits until the gate is opened if there is a gate, and
// creates an empty program.
const fakeGo = `#!/bin/sh
if [ "$1" = list ]; then echo "$FAKE_MODULE"; exit 0; fi
echo "$@" >> "$FAKE_LOG"
if [ -n "$FAKE_GATE" ]; then read line < "$FAKE_GATE"; fi
if [ -n "$FAKE_FAILS" ]; then echo "no network"; exit 1; fi
out="$GOBIN/temporal"
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out="$2"; fi; shift; done
: > "$out"
`

// withFakeGo sets PATH to a folder with only the fake go command, REAGENT_CACHE to an empty folder, and REAGENT_CLI_URL to "off".
// The returned function returns the arguments of all calls of the fake.
func withFakeGo(t *testing.T) (calls func() []string) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o755))
	log := filepath.Join(dir, "calls")
	t.Setenv("PATH", dir)
	t.Setenv("REAGENT_CACHE", filepath.Join(t.TempDir(), "deep", "cache"))
	t.Setenv("REAGENT_CLI_URL", "off")
	t.Setenv("FAKE_LOG", log)
	return func() []string {
		data, err := os.ReadFile(log)
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}

func TestVersionIsThePinnedOne(t *testing.T) {
	mod, err := os.ReadFile("../../pins/cli/go.mod")
	require.NoError(t, err)
	m := regexp.MustCompile(`github.com/temporalio/cli (v\S+)`).FindSubmatch(mod)
	require.NotNil(t, m)
	require.Equal(t, string(m[1]), CLIVersion)
}

func TestPathGoesBeforeTheCache(t *testing.T) {
	calls := withFakeGo(t)
	temporal := filepath.Join(t.TempDir(), "temporal")
	t.Setenv("PATH", filepath.Dir(temporal)+":"+os.Getenv("PATH"))
	for version, used := range map[string]bool{
		"temporal version 1.5.0 (Server 1.29.0, UI 2.40.1)": true,
		"temporal version 1.12.0 (Server 1.31.0, UI 2.50)":  true,
		"temporal version 2.0.0 (Server 2.0.0, UI 3.0.0)":   true,
		"temporal version 0.0.0-DEV (Server 1.29.0)":        true, // built by the user
		"temporal version 1.4.1 (Server 1.28.0, UI 2.39.0)": false,
		"temporal version 0.13.2 (Server 1.24.1)":           false,
	} {
		require.NoError(t, os.WriteFile(temporal, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755))
		var progress bytes.Buffer
		path, err := binaryHere(t, &progress)
		require.NoError(t, err)
		require.Equal(t, used, path == temporal, version)
		if !used && progress.Len() > 0 {
			require.Contains(t, progress.String(), "and at least 1.5 is needed: building the Temporal CLI v1.5.1 from source")
		}
	}
	require.Len(t, calls(), 1, "one of both builds it")

	require.NoError(t, os.WriteFile(temporal, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	path, err := binaryHere(t, &bytes.Buffer{})
	require.NoError(t, err)
	require.NotEqual(t, temporal, path, "what cannot tell its version is no Temporal CLI")
}

func binaryHere(t *testing.T, progress io.Writer) (string, error) {
	return Binary(t.Context(), progress)
}

func TestOneOfManyBuildsAndTheOthersWait(t *testing.T) {
	calls := withFakeGo(t)
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	t.Setenv("FAKE_GATE", gate)

	const callers = 4
	waiting := make(chan struct{}, callers)
	progress := writerFunc(func(p []byte) (int, error) {
		if bytes.HasPrefix(p, []byte("Another process")) {
			waiting <- struct{}{}
		}
		return len(p), nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // so that a failure ends
	defer cancel()
	paths := make([]string, callers)
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { paths[i], errs[i] = Binary(ctx, progress) })
	}
	for range callers - 1 {
		select {
		case <-waiting:
		case <-ctx.Done():
			all.Wait()
			require.FailNow(t, "more than one caller builds")
		}
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // returns when the fake reads
	require.NoError(t, err)
	_, err = open.WriteString("go\n")
	require.NoError(t, err)
	require.NoError(t, open.Close())
	all.Wait()

	for i := range callers {
		require.NoError(t, errs[i])
		require.Equal(t, paths[0], paths[i])
	}
	require.FileExists(t, paths[0])
	require.Len(t, calls(), 1)

	_, err = binaryHere(t, progress)
	require.NoError(t, err)
	require.Len(t, calls(), 1, "found in the cache")
	entries, err := os.ReadDir(filepath.Dir(paths[0]))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the program and its lock, nothing else")
}

func TestPinnedModuleIsBuiltInACheckoutAndInstalledElsewhere(t *testing.T) {
	calls := withFakeGo(t)
	var progress bytes.Buffer
	path, err := binaryHere(t, &progress)
	require.NoError(t, err)
	require.Regexp(t, `^install -ldflags=.* github.com/temporalio/cli/cmd/temporal@v1.5.1$`, calls()[0])
	require.Contains(t, progress.String(), "There is no `temporal` on the PATH: building the Temporal CLI v1.5.1 from source")
	require.Contains(t, progress.String(), path)

	require.NoError(t, os.Remove(path))
	module := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(module, "internal", "pins", "cli"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(module, "internal", "pins", "cli", "go.mod"), nil, 0o644))
	t.Setenv("FAKE_MODULE", module)
	_, err = binaryHere(t, &progress)
	require.NoError(t, err)
	require.Contains(t, calls()[1], "build -C "+filepath.Join(module, "internal", "pins", "cli")+" -mod=readonly ")
}

func TestFailedBuildSaysWhyAndLeavesNothing(t *testing.T) {
	withFakeGo(t)
	t.Setenv("FAKE_FAILS", "1")
	_, err := binaryHere(t, &bytes.Buffer{})
	require.ErrorContains(t, err, "the Temporal CLI could not be built (go install")
	require.ErrorContains(t, err, "no network")
	left, globErr := filepath.Glob(filepath.Join(os.Getenv("REAGENT_CACHE"), "*"))
	require.NoError(t, globErr)
	require.Len(t, left, 1, "the lock")
}

func TestNeitherTemporalNorGo(t *testing.T) {
	withFakeGo(t)
	t.Setenv("PATH", t.TempDir())
	_, err := binaryHere(t, &bytes.Buffer{})
	require.EqualError(t, err, "there is no `temporal` on the PATH, and there is no `go` on the PATH to build it: install the Temporal CLI (https://docs.temporal.io/cli#install)")
}
