package devserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	cliPackage = "github.com/temporalio/cli/cmd/temporal"
	ourModule  = "github.com/reagent-dev/reagent"
)

// build builds the Temporal CLI into the folder `scratch`. Its messages for people quote `reason`, the reason for the build.
func build(ctx context.Context, scratch, reason string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%s, and there is no `go` on the PATH to build it: install the Temporal CLI (https://docs.temporal.io/cli#install)", lowerFirst(reason))
	}
	cmd := buildCommand(ctx, scratch)
	cmd.Env = buildEnv(os.Environ(), scratch)
	// After an interrupt, the go command ends its compilers and removes its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	fmt.Fprintf(progress, "%s: building the Temporal CLI %s from source. It contains the Temporal server and its Web UI.\n"+
		"This happens once. It takes 2 minutes on fast cores and up to 13 minutes on 2 busy cores. Cores of this machine: %d.\n"+
		"To avoid the build, press Ctrl-C and install `temporal`: https://docs.temporal.io/cli#install\n", reason, CLIVersion, runtime.NumCPU())
	over := elapsed(progress, func() string { return "Building the Temporal CLI" }, nextTick)
	out, err := cmd.CombinedOutput()
	over()
	if err == nil {
		return nil
	}
	var t tail
	t.add(out)
	return fmt.Errorf("the Temporal CLI could not be built (%s); install it by hand instead (https://docs.temporal.io/cli#install): %w%s",
		strings.Join(cmd.Args, " "), cmp.Or(ctx.Err(), err), t.report())
}

// buildCommand returns the command that builds the CLI into the folder `scratch`. In a checkout of this module, the command
// builds the CLI in the module internal/pins/cli, because the go.sum of that module has the checksums of all dependencies.
// Elsewhere, such as in a program that depends on this module, the command is `go install` for the same version.
func buildCommand(ctx context.Context, scratch string) *exec.Cmd {
	flags := []string{
		// The flags -s and -w make the program 40 MB smaller. The flag -X sets the version that the program prints.
		"-ldflags=-s -w -X github.com/temporalio/cli/temporalcli.Version=" + strings.TrimPrefix(CLIVersion, "v"),
		// Without one way of archiving to Google Cloud Storage, a tenth of the packages need not be compiled.
		"-tags=disable_grpc_modules",
	}
	command, program := []string{"install"}, cliPackage+"@"+CLIVersion
	if dir := pinnedModule(ctx); dir != "" {
		command = []string{"build", "-C", dir, "-mod=readonly", "-o", filepath.Join(scratch, executable("temporal"))}
		program = cliPackage
	}
	return exec.CommandContext(ctx, "go", slices.Concat(command, flags, []string{program})...)
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

// lowerFirst returns a text with the first letter in lower case. The text must begin with an ASCII character.
func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }
