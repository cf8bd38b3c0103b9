package devserver

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxProgram limits the size of the program in an archive. It has about 200 MB.
const maxProgram = 1 << 30

// extract writes the program in an archive to the folder `dir`, and nothing else of the archive. The program is `temporal.exe`
// in a .zip file, and `temporal` in every other archive.
func extract(archive, dir string) error {
	var err error
	if strings.HasSuffix(archive, ".zip") {
		err = unzip(archive, filepath.Join(dir, "temporal.exe"))
	} else {
		err = untar(archive, filepath.Join(dir, "temporal"))
	}
	if err != nil {
		return fmt.Errorf("extract %s: %w", filepath.Base(archive), err)
	}
	return nil
}

func untar(archive, program string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the archive has no program %s; install the Temporal CLI by hand", filepath.Base(program))
		}
		if err != nil {
			return err
		}
		if file.Name == filepath.Base(program) && file.Typeflag == tar.TypeReg {
			return writeProgram(program, files, file.Size)
		}
	}
}

func unzip(archive, program string) error {
	files, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, file := range files.File {
		if file.Name != filepath.Base(program) || !file.Mode().IsRegular() {
			continue
		}
		r, err := file.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		return writeProgram(program, r, file.FileInfo().Size())
	}
	return fmt.Errorf("the archive has no program %s; install the Temporal CLI by hand", filepath.Base(program))
}

func writeProgram(path string, from io.Reader, size int64) error {
	if size > maxProgram {
		return fmt.Errorf("the program has %d MB, too many for the Temporal CLI; install the Temporal CLI by hand", size>>20)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyN(f, from, size); err != nil {
		return err
	}
	return f.Close()
}
