// Command release makes the files of a release in a folder: an archive with the worker and the starter for each platform, a list of
// components (SBOM), the checksums of all these, and the release notes from the changelog. It tags and uploads nothing.
//
// Two calls for the same commit make the same bytes, on any machine: the build has no paths, and the archives have the time of the commit.
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
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the `version`, such as v0.1.0")
	out := flag.String("out", "dist", "the `folder` for the files, which must not exist or be empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := release(ctx, *version, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platforms are the values of GOOS and GOARCH for which there are archives.
var platforms = [][2]string{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// programs are the packages of the programs in an archive.
var programs = []string{"worker", "starter"}

// documents are the files that each archive has beside the programs.
var documents = []string{"LICENSE", "README.md", "CHANGELOG.md"}

var semver = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?$`)

func release(ctx context.Context, version, out string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("the version is %q; it must look like v0.1.0 or v0.1.0-rc.1: make release VERSION=v0.1.0", version)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: remove it first", out)
	}
	if changes, err := git(ctx, "status", "--porcelain"); err != nil || changes != "" {
		return errors.Join(err, fmt.Errorf("there are changes that are not committed, so the files would belong to no commit:\n%s", changes))
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
	for _, p := range platforms {
		fmt.Fprintf(os.Stderr, "%s/%s\n", p[0], p[1])
		if err := pack(ctx, out, version, commit, p[0], p[1], at); err != nil {
			return fmt.Errorf("%s/%s: %w", p[0], p[1], err)
		}
	}
	fmt.Fprintln(os.Stderr, "list of components")
	if err := components(ctx, filepath.Join(out, fmt.Sprintf("reagent_%s_sbom.cdx.json", version[1:]))); err != nil {
		return fmt.Errorf("list of components: %w", err)
	}
	return checksums(out)
}

// pack builds the programs for a platform and writes their archive.
func pack(ctx context.Context, out, version, commit, system, arch string, at time.Time) error {
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
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
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

// components writes the list of the modules that the programs contain, in the form of CycloneDX.
func components(ctx context.Context, path string) error {
	const tool = "bin/cyclonedx-gomod"
	for _, args := range [][]string{
		{"go", "build", "-C", "internal/pins/sbom", "-mod=readonly", "-o", "../../../" + tool, "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"},
		{tool, "mod", "-json", "-std", "-licenses", "-noserial", "-notimestamp", "-output", path},
	} {
		step := exec.CommandContext(ctx, args[0], args[1:]...)
		step.Stderr = os.Stderr
		if err := step.Run(); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	return nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
