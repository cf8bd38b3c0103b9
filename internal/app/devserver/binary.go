package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/reagent-dev/reagent/internal/filelock"
)

// CLIVersion is the version of the Temporal CLI that [Binary] fetches or builds if no usable CLI is on the PATH. It equals the
// version in internal/pins/cli/go.mod, and checksums.txt is for it. It is the newest version that `go install` accepts. Later
// versions have replace directives in their go.mod.
const CLIVersion = "v1.5.1"

// minVersion is the oldest version of the Temporal CLI that [Binary] uses from the PATH, as major and minor number. This
// project is not tested with older servers.
var minVersion = [2]int{1, 5}

// Binary returns the path of a Temporal CLI. It takes the first of these:
//   - `temporal` from the PATH, if its version is new enough
//   - the CLI in the cache; see [CacheDir]
//   - the official archive, which it fetches into the cache
//   - a build from source into the cache, which takes minutes
//
// Several processes may call Binary at the same time: one of them fetches or builds the CLI, and the others wait for it. Binary
// writes messages for people to `progress`.
//
// The environment variable REAGENT_CLI_URL replaces the URL from which archives are fetched. If it is "off", or if this version of
// the program has no checksum of the archive for this system, Binary fetches nothing and builds the CLI.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	a, err := newArchive(checksums, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	return binary(ctx, a, progress)
}

// binary is [Binary] with a given archive. If the archive is nil, the CLI is built.
func binary(ctx context.Context, a *archive, progress io.Writer) (string, error) {
	path, reason := fromPath(ctx)
	if path != "" {
		return path, nil
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, executable(fmt.Sprintf("temporal-%s-%s-%s", CLIVersion, runtime.GOOS, runtime.GOARCH)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the folder for the Temporal CLI: %w; set REAGENT_CACHE to another folder", err)
	}
	if err := checkOwned(path); err != nil {
		return "", fmt.Errorf("the folder of the Temporal CLI cannot be used: %w", err)
	}
	if isFile(path) {
		return path, nil
	}
	unlock, err := filelock.Lock(ctx, path+".lock", func() {
		fmt.Fprintln(progress, "Another process is fetching or building the Temporal CLI; waiting for it.")
	})
	if err != nil {
		return "", fmt.Errorf("lock the folder for the Temporal CLI: %w; if the folder cannot be written, set REAGENT_CACHE to another folder", err)
	}
	defer unlock()
	if isFile(path) { // another process has put it there
		return path, nil
	}
	if err := provide(ctx, a, path, reason, progress); err != nil {
		return "", err
	}
	return path, nil
}

// provide fetches or builds the Temporal CLI and stores the program at the given path. Its messages for people quote `reason`, the
// reason why it is needed; see [fromPath]. The caller must hold the lock of the file at the path; see [filelock.Lock].
func provide(ctx context.Context, a *archive, path, reason string, progress io.Writer) error {
	// The temporary folders of processes that were killed are unused, because the caller holds the lock.
	left, _ := filepath.Glob(path + ".new-*") // the pattern is well-formed
	for _, dir := range left {
		os.RemoveAll(dir)
	}
	// The program is made in a temporary folder next to path. The complete program is then renamed to path, so a process that is
	// killed leaves no incomplete program there.
	scratch, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return fmt.Errorf("make a folder for the Temporal CLI: %w; set REAGENT_CACHE to a folder that can be written", err)
	}
	defer os.RemoveAll(scratch)

	began := time.Now()
	part := path + ".part"
	fetched := false
	if a != nil {
		err := a.fetch(ctx, part, scratch, progress)
		if ctx.Err() != nil {
			return fmt.Errorf("fetch the Temporal CLI: %w", ctx.Err())
		}
		if fetched = err == nil; !fetched {
			reason += fmt.Sprintf(", and the official archive could not be fetched (%v)", err)
		}
	}
	done := reason + ": fetched"
	if !fetched {
		if err := build(ctx, scratch, reason, progress); err != nil {
			return err
		}
		done = "Built"
	}
	// The mode must not depend on the umask, because checkOwned rejects a program that other users can write.
	program := filepath.Join(scratch, executable("temporal"))
	if err := errors.Join(os.Chmod(program, 0o755), os.Rename(program, path)); err != nil {
		return fmt.Errorf("store the Temporal CLI: %w; set REAGENT_CACHE to a folder that can be written", err)
	}
	_ = os.Remove(part) // a build leaves what an unfinished download has brought
	fmt.Fprintf(progress, "%s the Temporal CLI %s in %s: %s\n", done, CLIVersion, time.Since(began).Round(time.Second), path)
	return nil
}

const versionTimeout = 10 * time.Second

var versionLine = regexp.MustCompile(`\bversion v?(\d+)\.(\d+)\.\d+(-\S+)?`)

// fromPath returns the path of the program `temporal` on the PATH. If there is none that can be used, the path is empty, and
// `reason` says why, such as "There is no `temporal` on the PATH", without a full stop. A program whose version is not a release is
// always used, because the user has built it.
func fromPath(ctx context.Context) (path, reason string) {
	path, err := exec.LookPath("temporal")
	if err != nil {
		return "", "There is no `temporal` on the PATH"
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment(os.Environ())
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Sprintf("`%s --version` failed (%v)", path, err)
	}
	v := versionLine.FindStringSubmatch(string(said))
	if v == nil || v[3] != "" {
		return path, ""
	}
	major, _ := strconv.Atoi(v[1]) // versionLine matches digits only
	minor, _ := strconv.Atoi(v[2])
	if slices.Compare([]int{major, minor}, minVersion[:]) < 0 {
		return "", fmt.Sprintf("`%s` has version %s.%s and at least %d.%d is needed", path, v[1], v[2], minVersion[0], minVersion[1])
	}
	return path, ""
}

// CacheDir returns the folder for the CLI that [Binary] fetches or builds. It is the value of the environment variable REAGENT_CACHE, or
// else the folder "reagent" in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("REAGENT_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the Temporal CLI: %w; set REAGENT_CACHE to a folder", err)
	}
	return filepath.Join(dir, "reagent"), nil
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// isFile reports whether there is a regular file, or a link to one, at a path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
