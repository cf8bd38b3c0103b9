package demo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// These limits of one measurement suffice for a project and stop early in a home folder.
const (
	maxMeasured     = 20_000  // files and folders
	maxMeasuredFile = 4 << 20 // bytes of a file
)

// size is the result of a measurement.
type size struct {
	suffix       string
	files, lines int
	more         bool // not all files were counted
}

func (s size) String() string {
	kind := ""
	if s.suffix != "" {
		kind = " ending in " + s.suffix
	}
	text := plural(s.files, "file") + kind + " with " + plural(s.lines, "line")
	if s.more {
		text += ", and more that were not counted"
	}
	return text
}

// sizeOf counts the files below a folder whose names end in a suffix, and their lines. It skips hidden folders and symbolic
// links.
func sizeOf(ctx context.Context, root, suffix string) (size, error) {
	s := size{suffix: suffix}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return s, errors.New("the folder cannot be opened")
	}
	defer dir.Close()
	visited := 0
	err = fs.WalkDir(dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if visited++; visited > maxMeasured {
			s.more = true
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil //nolint:nilerr // skip a file or folder that cannot be read
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(d.Name(), suffix):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxMeasuredFile {
			s.more = true
			return nil //nolint:nilerr // as above
		}
		data, err := fs.ReadFile(dir.FS(), path)
		if err != nil {
			s.more = true
			return nil //nolint:nilerr // as above
		}
		s.files++
		s.lines += bytes.Count(data, []byte("\n"))
		return nil
	})
	return s, err
}
