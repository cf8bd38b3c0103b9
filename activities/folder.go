package activities

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// folderBytes bounds what the files of a folder take together. Between two looks it may be exceeded by an eighth.
	folderBytes = 256 << 20
	// folderAge is the age up to which a file is used. A result that was reported is in Temporal's history.
	folderAge = 7 * 24 * time.Hour
	// fileSuffix and temporaryPrefix tell our files from others, which are left alone.
	fileSuffix      = ".kept.json"
	temporaryPrefix = ".kept-"
)

// folder keeps results in files, one for each key. Several processes may share one. It is safe for concurrent use.
//
// A file is complete when it has its name, whatever happens to the process. When the machine fails it may be empty or missing.
type folder struct {
	dir   string
	bytes int64
	age   time.Duration

	mu      sync.Mutex
	written int64 // since the last look at all files
}

// openFolder makes the folder if it does not exist, and removes what is too old or too much.
func openFolder(dir string) (*folder, error) {
	f := &folder{dir: dir, bytes: folderBytes, age: folderAge}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for results: %w", err)
	}
	probe, err := os.CreateTemp(dir, temporaryPrefix)
	if err != nil {
		return nil, fmt.Errorf("the folder for results cannot be written to: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("the folder for results: %w", err)
	}
	return f, f.prune()
}

// fileKey are the keys that have a file: what a workflow asks for must not name another place.
var fileKey = regexp.MustCompile(`^[a-z]+-[0-9a-z]{1,64}$`)

func (f *folder) path(key string) string { return filepath.Join(f.dir, key+fileSuffix) }

// write stores data under key, in place of what was there.
func (f *folder) write(key string, data []byte) error {
	if !fileKey.MatchString(key) {
		return fmt.Errorf("%q cannot be the name of a file", key)
	}
	t, err := os.CreateTemp(f.dir, temporaryPrefix) // with mode 0600
	if err != nil {
		return err
	}
	_, err = t.Write(data)
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), f.path(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	f.mu.Lock()
	f.written += int64(len(data))
	full := f.written > f.bytes/8
	f.mu.Unlock()
	if full {
		return f.prune()
	}
	return nil
}

// read returns what is stored under key; nil where nothing is, or what is there is too old.
func (f *folder) read(key string) ([]byte, error) {
	if !fileKey.MatchString(key) {
		return nil, nil
	}
	info, err := os.Stat(f.path(key))
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > f.age {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return nil, nil
	}
	if err == nil && len(data) == 0 {
		return nil, fmt.Errorf("%s is empty", f.path(key))
	}
	return data, err
}

// prune removes the files that are too old, and the oldest of those that are too much.
func (f *folder) prune() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = 0
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("the folder for results: %w", err)
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !strings.HasSuffix(name, fileSuffix) && !strings.HasPrefix(name, temporaryPrefix) {
			continue
		}
		if info, err := entry.Info(); err == nil { // or another process has removed it
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var total int64
	var problems []error
	for _, info := range files {
		total += info.Size()
		if total <= f.bytes && time.Since(info.ModTime()) <= f.age {
			continue
		}
		if err := os.Remove(filepath.Join(f.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
