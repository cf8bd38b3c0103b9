//go:build unix

package devserver

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program is the CLI in the archives of these tests. It is random, so that an archive is not smaller than the program.
var program = func() []byte {
	p := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()

type member struct {
	name    string
	kind    byte
	content []byte
}

var official = tarball([]member{{"LICENSE", tar.TypeReg, []byte("MIT")}, {"temporal", tar.TypeReg, program}})

func tarball(members []member) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, m := range members {
		must(files.WriteHeader(&tar.Header{Name: m.name, Typeflag: m.kind, Size: int64(len(m.content)), Mode: 0o755}))
		_, err := files.Write(m.content)
		must(err)
	}
	must(files.Close())
	must(zipped.Close())
	return out.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// server serves archives to a machine that has no CLI. It records the ranges that were asked for.
type server struct {
	mu     sync.Mutex
	ranges []string // "" for the whole file
	calls  func() []string
}

// serve starts a server, with an empty cache and the fake go command. The returned archive has the checksum of `right`. Its
// download does not stall, however busy this machine is.
func serve(t *testing.T, right []byte, answer http.HandlerFunc) (*server, *archive) {
	s := &server{calls: withFakeGo(t)}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(listening.Close)
	t.Setenv("REAGENT_CLI_URL", listening.URL+"/mirror/")
	name := fmt.Sprintf("temporal_cli_1.5.1_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	a, err := newArchive(fmt.Sprintf("%x  %s\n", sha256.Sum256(right), name), runtime.GOOS, runtime.GOARCH)
	require.NoError(t, err)
	require.Equal(t, listening.URL+"/mirror/v1.5.1/"+name, a.url.String())
	a.stall = time.Minute
	return s, a
}

// send answers with a file, or with the range of it that was asked for.
func send(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}

// sendHalf promises the official archive and sends the first half.
func sendHalf(w http.ResponseWriter) {
	w.Header().Set("Content-Length", fmt.Sprint(len(official)))
	_, _ = w.Write(official[:len(official)/2])
	w.(http.Flusher).Flush()
}

// cached returns the names of the files in the cache, without the part that all of them have.
func cached(t *testing.T) (names []string) {
	entries, err := os.ReadDir(os.Getenv("REAGENT_CACHE"))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), fmt.Sprintf("temporal-v1.5.1-%s-%s", runtime.GOOS, runtime.GOARCH)))
	}
	return names
}

// part is the path of the unfinished download.
func part() string {
	return filepath.Join(os.Getenv("REAGENT_CACHE"), fmt.Sprintf("temporal-v1.5.1-%s-%s.part", runtime.GOOS, runtime.GOARCH))
}

func begin(t *testing.T, content []byte) {
	require.NoError(t, os.MkdirAll(filepath.Dir(part()), 0o755))
	require.NoError(t, os.WriteFile(part(), content, 0o644))
}

func requireFetched(t *testing.T, s *server, a *archive) {
	var progress bytes.Buffer
	path, err := binary(t.Context(), a, &progress)
	require.NoError(t, err)
	require.Empty(t, s.calls(), "nothing was built: %s", &progress)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(program, got))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())
	require.Equal(t, []string{"", ".lock"}, cached(t))
	require.Regexp(t, "^There is no `temporal` on the PATH: fetched the Temporal CLI v1.5.1 in .*\n$", progress.String())
}

// requireBuilt requires that the CLI is built, and that one line says why it was not fetched.
func requireBuilt(t *testing.T, s *server, a *archive, why string) {
	var progress bytes.Buffer
	path, err := binary(t.Context(), a, &progress)
	require.NoError(t, err)
	first, _, _ := strings.Cut(progress.String(), "\n")
	require.Regexp(t, `and the official archive could not be fetched \(.*`+why+`.*\): building the Temporal CLI`, first)
	require.Len(t, s.calls(), 1)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, got, "what the fake builds")
	require.Equal(t, []string{"", ".lock"}, cached(t))
}

func TestChecksumsAreOfThePinnedVersion(t *testing.T) {
	for line := range strings.Lines(checksums) {
		require.Regexp(t, `^[0-9a-f]{64}  temporal_cli_`+regexp.QuoteMeta(strings.TrimPrefix(CLIVersion, "v"))+`_\w+\.(tar\.gz|zip)\n$`, line)
	}
	t.Setenv("REAGENT_CLI_URL", "")
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, processor := range []string{"amd64", "arm64"} {
			a, err := newArchive(checksums, system, processor)
			require.NoError(t, err)
			require.NotNil(t, a, "%s/%s", system, processor)
		}
	}
}

func TestWhereArchivesComeFrom(t *testing.T) {
	t.Setenv("REAGENT_CLI_URL", "")
	a, err := newArchive(checksums, "linux", "amd64")
	require.NoError(t, err)
	require.Equal(t, "https://github.com/temporalio/cli/releases/download/v1.5.1/temporal_cli_1.5.1_linux_amd64.tar.gz", a.url.String())
	a, err = newArchive(checksums, "windows", "arm64")
	require.NoError(t, err)
	require.Equal(t, "temporal_cli_1.5.1_windows_arm64.zip", filepath.Base(a.url.Path))
	a, err = newArchive(checksums, "freebsd", "amd64")
	require.NoError(t, err)
	require.Nil(t, a, "there is no official archive")

	t.Setenv("REAGENT_CLI_URL", "off")
	a, err = newArchive(checksums, "linux", "amd64")
	require.NoError(t, err)
	require.Nil(t, a)
	for _, wrong := range []string{"mirror.example", "ftp://mirror.example", "https://", "https://user:secret@mirror\x7f"} {
		t.Setenv("REAGENT_CLI_URL", wrong)
		_, err = newArchive(checksums, "linux", "amd64")
		require.EqualError(t, err, `REAGENT_CLI_URL must be a URL that begins with https:// or http://, or "off"`)
	}
}

func TestArchiveIsFetchedRatherThanBuilt(t *testing.T) {
	s, a := serve(t, official, send(official))
	requireFetched(t, s, a)
	require.Equal(t, []string{""}, s.ranges)
	path, err := binary(t.Context(), a, io.Discard)
	require.NoError(t, err)
	require.FileExists(t, path)
	require.Len(t, s.ranges, 1, "found in the cache")
}

func TestAttackWrongArchiveIsNotRun(t *testing.T) {
	wrong := bytes.Clone(official)
	wrong[len(wrong)/2] ^= 1
	without := tarball([]member{
		{"../temporal", tar.TypeReg, program}, {"bin/temporal", tar.TypeReg, program}, {"temporal/", tar.TypeDir, nil}, {"temporal", tar.TypeDir, nil},
	})
	for name, c := range map[string]struct {
		right  []byte
		answer http.HandlerFunc
		why    string
	}{
		"one bit":     {official, send(wrong), "not the official one: .* sent 1\\d{5} bytes with the SHA-256"},
		"too short":   {official, send(official[:1000]), "sent 1000 bytes with"},
		"too long":    {official, send(append(bytes.Clone(official), 0)), "not the official one"},
		"nothing":     {official, send(nil), "sent 0 bytes with"},
		"HTML":        {official, send([]byte("<html>Please sign in.</html>")), "sent 28 bytes with"},
		"not found":   {official, http.NotFound, "GET http://.*: HTTP 404 Not Found"},
		"redirects":   {official, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "10 redirects"},
		"no archive":  {[]byte("hello, world"), send([]byte("hello, world")), "extract .*: "},
		"without CLI": {without, send(without), "extract .*: the archive has no program temporal"},
		"endless":     {official, endless, "sent 1000000 bytes with"},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := serve(t, c.right, c.answer)
			a.limit = 1_000_000
			requireBuilt(t, s, a, c.why)
			require.NoFileExists(t, filepath.Join(os.Getenv("REAGENT_CACHE"), "..", "temporal"))
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(program); err != nil {
			return
		}
	}
}

// A try that brings nothing ends the download, so a server that stalls again and again does not hold up the start.
func TestStalledDownloadEndsInABuild(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"at once":    func(http.ResponseWriter) {},
		"in between": sendHalf,
	} {
		t.Run(name, func(t *testing.T) {
			s, a := serve(t, official, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					answer(w)
				}
				<-r.Context().Done()
			})
			a.stall = 200 * time.Millisecond
			requireBuilt(t, s, a, "GET http://127.0.0.1:.*: the server sent nothing for 200ms")
			require.LessOrEqual(t, len(s.ranges), 2)
		})
	}
}

func TestNoWayToTheServer(t *testing.T) {
	s, _ := serve(t, official, send(official))
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv("REAGENT_CLI_URL", gone.URL)
	a, err := newArchive(checksums, "linux", "amd64")
	require.NoError(t, err)
	requireBuilt(t, s, a, "connection refused")
}

// As at GitHub, each request is redirected to the place where the file is.
func TestLostConnectionGoesOnWhereItWasLost(t *testing.T) {
	s, a := serve(t, official, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/stored":
			http.Redirect(w, r, "/stored", http.StatusFound)
		case r.Header.Get("Range") == "":
			sendHalf(w)
			panic(http.ErrAbortHandler)
		default:
			send(official)(w, r)
		}
	})
	requireFetched(t, s, a)
	require.Len(t, s.ranges, 4)
	require.Regexp(t, `^bytes=[1-9]\d*-$`, s.ranges[3])
}

func TestInterruptedDownloadGoesOnAtTheNextStart(t *testing.T) {
	s, a := serve(t, official, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			sendHalf(w)
			<-r.Context().Done()
			return
		}
		send(official)(w, r)
	})
	half := int64(len(official) / 2)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := binary(ctx, a, io.Discard)
		ended <- err
	}()
	require.Eventually(t, func() bool { return fileSize(part()) == half }, 20*time.Second, time.Millisecond)
	interrupt()
	err := <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "fetch the Temporal CLI: context canceled")
	require.Empty(t, s.calls(), "an interrupt ends the start, rather than the download alone")
	require.Equal(t, []string{".lock", ".part"}, cached(t))

	requireFetched(t, s, a)
	require.Equal(t, []string{"", fmt.Sprintf("bytes=%d-", half)}, s.ranges)
}

func TestServerMayIgnoreTheRange(t *testing.T) {
	s, a := serve(t, official, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(official) })
	begin(t, official[:1000])
	requireFetched(t, s, a)
	require.Equal(t, []string{"bytes=1000-"}, s.ranges)
}

func TestWrongPartIsFetchedAgainFromTheBeginning(t *testing.T) {
	for name, wrong := range map[string][]byte{
		"of another file": []byte("<html>"),
		"too long":        append(bytes.Clone(official), 0),
	} {
		t.Run(name, func(t *testing.T) {
			s, a := serve(t, official, send(official))
			begin(t, wrong)
			requireFetched(t, s, a)
			require.Equal(t, []string{fmt.Sprintf("bytes=%d-", len(wrong)), ""}, s.ranges)
		})
	}
}

func TestCompletePartIsNotFetchedAgain(t *testing.T) {
	s, a := serve(t, official, send(official))
	begin(t, official)
	requireFetched(t, s, a)
	require.Len(t, s.ranges, 1)
}

func TestOneOfManyFetchesAndTheOthersWait(t *testing.T) {
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
	s, a := serve(t, official, func(w http.ResponseWriter, r *http.Request) {
		for range callers - 1 {
			select {
			case <-waiting:
			case <-ctx.Done():
			}
		}
		send(official)(w, r)
	})
	paths := make([]string, callers)
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { paths[i], errs[i] = binary(ctx, a, progress) })
	}
	all.Wait()
	for i := range callers {
		require.NoError(t, errs[i])
		require.Equal(t, paths[0], paths[i])
	}
	require.Len(t, s.ranges, 1)
	require.Equal(t, []string{"", ".lock"}, cached(t))
}

func TestProgressOfADownload(t *testing.T) {
	t.Setenv("REAGENT_CLI_URL", "https://user:secret@mirror.example/cli")
	a, err := newArchive(checksums, "linux", "amd64")
	require.NoError(t, err)
	a.received.Store(5 << 20)
	require.Equal(t, "Fetching the Temporal CLI v1.5.1 from mirror.example (5 MB)", a.label())
	a.size.Store(45 << 20)
	require.Equal(t, "Fetching the Temporal CLI v1.5.1 from mirror.example (5 of 45 MB)", a.label())
}

func TestAttackOnlyTheProgramIsExtracted(t *testing.T) {
	var zipped bytes.Buffer
	files := zip.NewWriter(&zipped)
	for _, name := range []string{"../temporal.exe", "LICENSE", "temporal.exe", "temporal"} {
		w, err := files.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, "this is "+name)
		require.NoError(t, err)
	}
	require.NoError(t, files.Close())
	for name, archive := range map[string][]byte{
		"cli.zip": zipped.Bytes(),
		"cli.tar.gz": tarball([]member{
			{"../temporal", tar.TypeReg, nil}, {"/temporal", tar.TypeReg, nil}, {"LICENSE", tar.TypeReg, nil}, {"temporal", tar.TypeSymlink, nil},
			{"temporal", tar.TypeReg, []byte("this is temporal")}, {"temporal.exe", tar.TypeReg, nil},
		}),
	} {
		dir := filepath.Join(t.TempDir(), "empty")
		require.NoError(t, os.Mkdir(dir, 0o755))
		path := filepath.Join(filepath.Dir(dir), name)
		require.NoError(t, os.WriteFile(path, archive, 0o644))
		require.NoError(t, extract(path, dir))
		for folder, count := range map[string]int{dir: 1, filepath.Dir(dir): 2} {
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, count)
		}
		got, err := os.ReadFile(filepath.Join(dir, map[string]string{"cli.zip": "temporal.exe", "cli.tar.gz": "temporal"}[name]))
		require.NoError(t, err)
		require.Contains(t, string(got), "this is temporal")
	}
}
