// Command release makes the files of a release in a folder: an archive with the worker and the starter for each platform, a list of
// components (SBOM), the checksums of all these, and the release notes from the changelog. It tags and uploads nothing.
//
// Two calls for the same commit and the same version of Go make the same bytes, in any folder: the programs contain no path, the
// archives have the time of the commit, and nothing depends on the tags of the clone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the `version`, such as v0.1.0")
	out := flag.String("out", "dist", "the `folder` for the files, which must not exist or be empty")
	only := flag.String("platforms", "all", "make archives only for these `platforms`, such as linux/amd64,windows/arm64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := release(ctx, *version, *out, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func platformsOf(only string) ([]string, error) {
	if only == "all" {
		return platforms, nil
	}
	some := strings.Split(only, ",")
	for _, p := range some {
		if !slices.Contains(platforms, p) {
			return nil, fmt.Errorf("-platforms: there are no archives for %q; use %s", p, strings.Join(platforms, ", "))
		}
	}
	return some, nil
}

var programs = []string{"worker", "starter"}

var documents = []string{"LICENSE", "README.md", "CHANGELOG.md"}

var semver = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?$`)

func release(ctx context.Context, version, out, only string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("the version is %q; it must look like v0.1.0 or v0.1.0-rc.1: make release VERSION=v0.1.0", version)
	}
	chosen, err := platformsOf(only)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: remove it first", out)
	}
	if changes, err := git(ctx, "status", "--porcelain"); err != nil || changes != "" {
		return errors.Join(err, fmt.Errorf("commit these changes first, because the files of a release belong to a commit:\n%s", changes))
	}
	commit, err := git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	made, err := git(ctx, "show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, made)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "release-notes.md"), []byte(notes), 0o644); err != nil { //nolint:gosec // everybody may read it
		return err
	}
	for _, p := range chosen {
		fmt.Fprintln(os.Stderr, p)
		if err := pack(ctx, out, version, commit, p, at); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	fmt.Fprintln(os.Stderr, "list of components")
	if err := components(ctx, filepath.Join(out, fmt.Sprintf("reagent_%s_sbom.cdx.json", version[1:])), version); err != nil {
		return fmt.Errorf("list of components: %w", err)
	}
	return checksums(out)
}

func pack(ctx context.Context, out, version, commit, platform string, at time.Time) error {
	system, arch, _ := strings.Cut(platform, "/")
	dir, err := os.MkdirTemp("", "reagent-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	suffix := ""
	if system == "windows" {
		suffix = ".exe"
	}
	var files []entry
	for _, name := range programs {
		path := filepath.Join(dir, name+suffix)
		const own = "github.com/reagent-dev/reagent/internal/version"
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path,
			"-ldflags", fmt.Sprintf("-s -w -buildid= -X %s.release=%s -X %s.commit=%s", own, version, own, commit), "./cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
			"GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off") // what else of the environment changes a build
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("go build ./cmd/%s: %w", name, err)
		}
		files = append(files, entry{name: name + suffix, path: path, mode: 0o755})
	}
	for _, name := range documents {
		files = append(files, entry{name: name, path: name, mode: 0o644})
	}
	folder := fmt.Sprintf("reagent_%s_%s_%s", version[1:], system, arch)
	if system == "windows" {
		return writeZip(filepath.Join(out, folder+".zip"), folder, files, at)
	}
	return writeTar(filepath.Join(out, folder+".tar.gz"), folder, files, at)
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
