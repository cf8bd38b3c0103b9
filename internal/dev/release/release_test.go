package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The same files make the same bytes, whenever they were written.
func TestArchivesAreReproducible(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 1, 0, time.FixedZone("", 3600))
	pack := func(write func(string, string, []entry, time.Time) error) []byte {
		dir := t.TempDir()
		program := filepath.Join(dir, "program")
		require.NoError(t, os.WriteFile(program, []byte("program"), 0o600))
		require.NoError(t, os.Chtimes(program, time.Now(), time.Unix(int64(len(dir))*1e6, 0)))
		path := filepath.Join(dir, "archive")
		require.NoError(t, write(path, "reagent", []entry{{"worker", program, 0o755}, {"LICENSE", "../../../LICENSE", 0o644}}, at))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return content
	}
	for _, write := range []func(string, string, []entry, time.Time) error{writeTar, writeZip} {
		require.Equal(t, pack(write), pack(write))
	}

	z, err := gzip.NewReader(strings.NewReader(string(pack(writeTar))))
	require.NoError(t, err)
	var names []string
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.True(t, at.Equal(h.ModTime))
		names = append(names, h.Name)
	}
	require.Equal(t, []string{"reagent/worker", "reagent/LICENSE"}, names)
	packed := string(pack(writeZip))
	zipped, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), zipped.File[0].Mode())
}

func TestChecksumsNameEveryFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600))
	require.NoError(t, checksums(dir))
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n"+
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n", string(sums))
}

func TestNotesAreThoseOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- second\n\n## [0.1.0] - 2026-12-01\n\n- first\n"
	for version, want := range map[string]string{"v0.1.0": "- first\n", "v0.2.0": "### Added\n\n- second\n", "v0.3.0-rc.1": "- new\n"} {
		notes, err := notesOf(changelog, version)
		require.NoError(t, err)
		require.Equal(t, want, notes)
	}
	_, err := notesOf(changelog, "v0.3.0")
	require.EqualError(t, err, "CHANGELOG.md has no section [0.3.0]: give the section [Unreleased] this name and the date")
}

func TestVersionIsChecked(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v1", "v0.1.0 -X", "v0.1.0/.."} {
		require.ErrorContains(t, release(t.Context(), version, t.TempDir(), "all"), "it must look like v0.1.0", version)
	}
}

func TestPlatformsAreChosen(t *testing.T) {
	all, err := platformsOf("all")
	require.NoError(t, err)
	require.Len(t, all, 6)
	some, err := platformsOf("linux/amd64,windows/arm64")
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64", "windows/arm64"}, some)
	_, err = platformsOf("linux/386")
	require.ErrorContains(t, err, `there are no archives for "linux/386"`)
}

// A clone with tags and a clone without them, in different folders, get the same list of components.
func TestListOfComponentsIsReproducible(t *testing.T) {
	list := func(version, hash string) []byte {
		out, err := settled([]byte(`{"metadata": {"tools": [{"hashes": ["`+hash+`"]}], "component": {
			"bom-ref": "pkg:golang/example.com/m@`+version+`?type=module", "name": "example.com/m", "version": "`+version+`"}},
			"components": [{"name": "example.com/n", "version": "v0.1.0", "licenses": "A & B"}],
			"dependencies": [{"ref": "pkg:golang/example.com/m@`+version+`?type=module"}]}`), "v0.2.0")
		require.NoError(t, err)
		return out
	}
	require.Equal(t, string(list("v0.1.0", "1")), string(list("v0.0.0-20261125000000-0123456789ab", "2")))
	require.Contains(t, string(list("v0.1.0", "1")), `pkg:golang/example.com/m@v0.2.0?type=module`)
	require.Contains(t, string(list("v0.1.0", "1")), `"licenses": "A & B"`)
	_, err := settled([]byte(`{}`), "v0.2.0")
	require.ErrorContains(t, err, "has no name or no version")
}
