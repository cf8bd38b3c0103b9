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
)

// CLIVersion is the version of the Temporal CLI that is built where none is on
// the PATH, equal to the one in internal/cli/go.mod. It is the newest that the
// go command can install: later ones have replace directives.
const CLIVersion = "v1.5.1"

const (
	cliPackage = "github.com/temporalio/cli/cmd/temporal"
	ourModule  = "github.com/reagent-dev/reagent"
)

// minVersion is the oldest Temporal CLI that is taken from the PATH. Its server is the oldest with which this project is tested.
var minVersion = [2]int{1, 5}

// Binary returns the path of a Temporal CLI: `temporal` from the PATH if its version suffices, else one
// from the cache, else one that it builds into the cache, which takes minutes.
// Several processes may call it at once; one builds and the others wait for it. Progress gets lines for a person, and
// waiting is called when a long wait begins: see [Options].
func Binary(ctx context.Context, progress io.Writer, waiting func(what string) (over func())) (string, error) {
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
		return "", fmt.Errorf("cache of the Temporal CLI: %w", err)
	}
	if err := checkOwned(path); err != nil {
		return "", fmt.Errorf("cache of the Temporal CLI: %w", err)
	}
	if isFile(path) {
		return path, nil
	}
	unlock, err := lock(ctx, path+".lock", func() {
		fmt.Fprintln(progress, "Another process is building the Temporal CLI; waiting for it.")
	})
	if err != nil {
		return "", fmt.Errorf("cache of the Temporal CLI: %w", err)
	}
	defer unlock()
	if isFile(path) { // built while we waited
		return path, nil
	}
	if err := build(ctx, path, reason, progress, waiting); err != nil {
		return "", err
	}
	return path, nil
}

// versionTimeout bounds how long a program may take to tell its version.
const versionTimeout = 10 * time.Second

var versionLine = regexp.MustCompile(`\bversion v?(\d+)\.(\d+)\.\d+(-\S+)?`)

// fromPath returns the path of `temporal` on the PATH if it can be used, and otherwise an empty path and the reason. A version
// that is not a release, such as one of a person's own build, is used.
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
	major, _ := strconv.Atoi(v[1]) // digits
	minor, _ := strconv.Atoi(v[2])
	if slices.Compare([]int{major, minor}, minVersion[:]) < 0 {
		return "", fmt.Sprintf("`%s` has version %s.%s and at least %d.%d is needed", path, v[1], v[2], minVersion[0], minVersion[1])
	}
	return path, ""
}

// CacheDir returns the folder of the built CLI: REAGENT_CACHE, else the folder
// reagent in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("REAGENT_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the cache of the Temporal CLI: %w; set REAGENT_CACHE", err)
	}
	return filepath.Join(dir, "reagent"), nil
}

// build makes the CLI at path. It is written beside path first and renamed when
// it is whole: a build that is killed leaves no half of a program to run.
func build(ctx context.Context, path, reason string, progress io.Writer, waiting func(string) func()) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%s, and there is no `go` to build one with: install the Temporal CLI (https://docs.temporal.io/cli#install)", lowerFirst(reason))
	}
	removeAbandoned(path)
	scratch, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".build-")
	if err != nil {
		return fmt.Errorf("build the Temporal CLI: %w", err)
	}
	defer os.RemoveAll(scratch)

	cmd := buildCommand(ctx, scratch)
	cmd.Env = buildEnv(os.Environ(), scratch)
	// An interrupted go command takes its compilers and its temporary files along.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	fmt.Fprintf(progress, "%s: the Temporal CLI %s is built from source, which has the Temporal server and its Web UI.\n"+
		"This happens once. It takes 2 minutes on fast cores and up to 13 on 2 busy ones; this machine has %d.\n"+
		"To do without it, press Ctrl-C and install `temporal`: https://docs.temporal.io/cli#install\n", reason, CLIVersion, runtime.NumCPU())
	began := time.Now()
	over := waiting("Building the Temporal CLI")
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
	// Whatever the umask: a program that others may write is not run.
	if err := errors.Join(os.Chmod(built, 0o755), os.Rename(built, path)); err != nil {
		return fmt.Errorf("build the Temporal CLI: %w", err)
	}
	fmt.Fprintf(progress, "Built the Temporal CLI in %s: %s\n", time.Since(began).Round(time.Second), path)
	return nil
}

// buildCommand builds from the pinned module where this module's checkout is at
// hand, with the sums of every dependency checked in; else, as for a program
// that only depends on this module, it installs the same version.
func buildCommand(ctx context.Context, scratch string) *exec.Cmd {
	// Stripped it is 40 MB smaller, and it knows its version.
	flags := "-ldflags=-s -w -X github.com/temporalio/cli/temporalcli.Version=" + strings.TrimPrefix(CLIVersion, "v")
	if dir := pinnedModule(ctx); dir != "" {
		return exec.CommandContext(ctx, "go", "build", "-C", dir, "-mod=readonly", flags,
			"-o", filepath.Join(scratch, executable("temporal")), cliPackage)
	}
	return exec.CommandContext(ctx, "go", "install", flags, cliPackage+"@"+CLIVersion)
}

// pinnedModule is the folder internal/cli of the checkout that the current
// folder belongs to; empty when there is none. A copy of this module in the
// module cache has none: the nested module is not part of it.
func pinnedModule(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", ourModule).Output()
	if err != nil {
		return ""
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "cli")
	if !isFile(filepath.Join(dir, "go.mod")) {
		return ""
	}
	return dir
}

// buildEnv makes a build for this machine, of one module, into scratch,
// whatever the user builds otherwise.
func buildEnv(env []string, scratch string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasSuffix(name, "_API_KEY") || strings.HasPrefix(name, "TEMPORAL_")
	})
	return append(env, "GOBIN="+scratch, "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// lowerFirst returns a sentence's beginning as the part of another one.
func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// removeAbandoned removes what builds left that were killed. Nobody builds now:
// the caller has the lock.
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
