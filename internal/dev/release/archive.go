package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type entry struct {
	// name is the path of the entry below the folder in the archive. path is the file with its content.
	name, path string
	mode       fs.FileMode
}

func writeTar(path, folder string, files []entry, at time.Time) error {
	return create(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		for _, f := range files {
			content, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			err = t.WriteHeader(&tar.Header{
				Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(content)), ModTime: at.UTC(), Format: tar.FormatPAX,
			})
			if err != nil {
				return err
			}
			if _, err := t.Write(content); err != nil {
				return err
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
		return z.Close()
	})
}

func writeZip(path, folder string, files []entry, at time.Time) error {
	return create(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, f := range files {
			content, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at.UTC()}
			header.SetMode(f.mode)
			in, err := z.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := in.Write(content); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// checksums writes the file SHA256SUMS with the checksums of all files in the folder. `sha256sum --check` reads it.
func checksums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries { // they are sorted by name
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&lines, "%s  %s\n", hex.EncodeToString(sum[:]), e.Name())
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(lines.String()), 0o644)
}
