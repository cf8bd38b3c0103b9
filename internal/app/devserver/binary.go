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
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/filelock"
)

// CLIVersion is the version of the Temporal CLI that [Binary] builds if no usable CLI is on the PATH. It equals the version
// in internal/pins/cli/go.mod. It is the newest version that `go install` accepts. Later versions have replace directives in their
// go.mod.
const CLIVersion = "v1.5.1"

const (
	cliPackage = "github.com/temporalio/cli/cmd/temporal"
	ourModule  = "github.com/reagent-dev/reagent"
)

// This project is not tested with older servers.
var minVersion = [2]int{1, 5}

// Binary returns the path of a Temporal CLI. It uses `temporal` from the PATH if its version is new enough. Otherwise it uses
// the CLI in the cache; see [CacheDir]. If the cache has none, Binary builds the CLI into the cache, which takes minutes.
// Several processes may call Binary at the same time: one of them builds the CLI, and the others wait for it. Binary writes
// messages for people to `progress`.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	path, reason := fromPath(ctx)
	if path != "" {
		return path, nil
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("temporal-%s-%s-%s", CLIVersion, runtime.GOOS, runtime.GOARCH)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path = filepath.Join(dir, name)
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
		fmt.Fprintln(progress, "Another process is building the Temporal CLI; waiting for it.")
	})
	if err != nil {
		return "", fmt.Errorf("lock the folder for the Temporal CLI: %w", err)
	}
	defer unlock()
	if isFile(path) { // another process has built it
		return path, nil
	}
	if err := build(ctx, path, reason, progress); err != nil {
		return "", err
	}
	return path, nil
}

const versionTimeout = 10 * time.Second

var versionLine = regexp.MustCompile(`\bversion v?(\d+)\.(\d+)\.\d+(-\S+)?`)

// fromPath returns the path of the program `temporal` on the PATH if this program can be used. Otherwise the path is empty,
// and `reason` says why, such as "There is no `temporal` on the PATH". The reason has no full stop. A program whose version
// is not a release is always used, because the user has built this program.
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

// CacheDir returns the folder for the CLI that [Binary] builds. It is the value of the environment variable REAGENT_CACHE, or
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

// `reason` is the reason for the build: see [fromPath]. The caller must hold the lock of the file at the path: see [filelock.Lock].
func build(ctx context.Context, path, reason string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%s, and there is no `go` on the PATH to build it: install the Temporal CLI (https://docs.temporal.io/cli#install)", lowerFirst(reason))
	}
	removeAbandoned(path)
	// The go command writes into a temporary folder next to path. The complete program is then renamed to path, so a build that is
	// killed leaves no incomplete program there.
	scratch, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".build-")
	if err != nil {
		return fmt.Errorf("build the Temporal CLI: %w", err)
	}
	defer os.RemoveAll(scratch)

	cmd := buildCommand(ctx, scratch)
	cmd.Env = buildEnv(os.Environ(), scratch)
	// After an interrupt, the go command ends its compilers and removes its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	fmt.Fprintf(progress, "%s: building the Temporal CLI %s from source. It contains the Temporal server and its Web UI.\n"+
		"This happens once. It takes 2 minutes on fast cores and up to 13 minutes on 2 busy cores. Cores of this machine: %d.\n"+
		"To avoid the build, press Ctrl-C and install `temporal`: https://docs.temporal.io/cli#install\n", reason, CLIVersion, runtime.NumCPU())
	began := time.Now()
	over := elapsed(progress, "Building the Temporal CLI", nextTick)
	out, err := cmd.CombinedOutput()
	over()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		var t tail
		t.add(out)
		return fmt.Errorf("build the Temporal CLI (%s): %w%s", strings.Join(cmd.Args, " "), err, t.report())
	}
	built := filepath.Join(scratch, executable("temporal"))
	// The mode must not depend on the umask, because checkOwned rejects a program that other users can write.
	if err := errors.Join(os.Chmod(built, 0o755), os.Rename(built, path)); err != nil {
		return fmt.Errorf("build the Temporal CLI: %w", err)
	}
	fmt.Fprintf(progress, "Built the Temporal CLI in %s: %s\n", time.Since(began).Round(time.Second), path)
	return nil
}

// buildCommand returns the command that builds the CLI into the folder `scratch`. In a checkout of this module, the command
// builds the CLI in the module internal/pins/cli, because the go.sum of that module has the checksums of all dependencies.
// Elsewhere, such as in a program that depends on this module, the command is `go install` for the same version.
func buildCommand(ctx context.Context, scratch string) *exec.Cmd {
	// The flags -s and -w make the program 40 MB smaller. The flag -X sets the version that the program prints.
	flags := "-ldflags=-s -w -X github.com/temporalio/cli/temporalcli.Version=" + strings.TrimPrefix(CLIVersion, "v")
	if dir := pinnedModule(ctx); dir != "" {
		return exec.CommandContext(ctx, "go", "build", "-C", dir, "-mod=readonly", flags,
			"-o", filepath.Join(scratch, executable("temporal")), cliPackage)
	}
	return exec.CommandContext(ctx, "go", "install", flags, cliPackage+"@"+CLIVersion)
}

// pinnedModule returns the path of the folder internal/pins/cli. The module in this folder sets the versions of the Temporal CLI
// and of its dependencies. The path is empty if the current folder does not belong to a checkout of this project.
func pinnedModule(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", ourModule).Output()
	if err != nil {
		return ""
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "pins", "cli")
	// A copy of our module in Go's module cache has no internal/pins/cli, because that is a module of its own.
	if !isFile(filepath.Join(dir, "go.mod")) {
		return ""
	}
	return dir
}

// buildEnv returns the environment variables of the build. It copies the given variables, without API keys and without
// Temporal's variables. It sets GOBIN to `scratch`, the folder into which the program is built. It also sets GOOS and GOARCH,
// because the build must be for this machine. It sets GOWORK, because the build must ignore a go.work file.
func buildEnv(env []string, scratch string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasSuffix(name, "_API_KEY") || strings.HasPrefix(name, "TEMPORAL_")
	})
	return append(env, "GOBIN="+scratch, "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// The text must begin with an ASCII character.
func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// removeAbandoned removes the temporary folders of builds that were killed. The caller must hold the lock of the file at the path, so no
// other build is running.
func removeAbandoned(path string) {
	left, _ := filepath.Glob(path + ".build-*") // the pattern is well-formed
	for _, dir := range left {
		os.RemoveAll(dir)
	}
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
