package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// CLIVersion is the version of the Temporal CLI that is built where none is on
// the PATH, equal to the one in internal/cli/go.mod. It is the newest that the
// go command can install: later ones have replace directives.
const CLIVersion = "v1.5.1"

const (
	cliPackage = "github.com/temporalio/cli/cmd/temporal"
	ourModule  = "github.com/reagent-dev/reagent"
)

// Binary returns the path of a Temporal CLI: `temporal` from the PATH, else one
// from the cache, else one that it builds into the cache, which takes minutes
// and is told to progress. Several processes may call it at once; one builds and
// the others wait for it.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
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
	path := filepath.Join(dir, name)
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
	if err := build(ctx, path, progress); err != nil {
		return "", err
	}
	return path, nil
}

// CacheDir is where the built CLI is kept: REAGENT_CACHE, else the folder
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
func build(ctx context.Context, path string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no `temporal` on the PATH, and no `go` to build it with: install one of them " +
			"(https://docs.temporal.io/cli#install)")
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
	fmt.Fprintf(progress, "There is no `temporal` on the PATH: building the Temporal CLI %s, once. It takes about 2 minutes on 2 cores.\n", CLIVersion)
	done := elapsed(progress, "Building the Temporal CLI", tickEvery)
	out, err := cmd.CombinedOutput()
	took := done()
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
	fmt.Fprintf(progress, "Built the Temporal CLI in %s: %s\n", took, path)
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
